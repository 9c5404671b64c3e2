"""Upload of an export to the model hub, as a repository of the kind data set."""

from pathlib import Path

from lextables.pipeline.errors import BadInput, first_line
from lextables.publish.export import Export
from lextables.sources.licences import licence_of

NO_LICENCE = "none stated"  # the start of a licence in the registry


def check_redistribution(export: Export) -> None:
    """Raise `BadInput` if a text of the export may not be redistributed."""
    reason = export.redistribution
    for source in export.sources:
        if licence_of(source).statement.startswith(NO_LICENCE):
            reason = f"no licence is stated for {source['title']}"
    if reason:
        what = f"this export may not be redistributed: {reason.rstrip('.')}"
        raise BadInput(what, where=export.name, do="leave its paper out of papers")


def push(folder: Path, repository: str) -> str:
    """Upload the files of an export, and return the address of the commit.

    ``repository`` is ``<owner>/<name>``; it is created if it does not exist.  Files
    that an earlier export had and this one lacks are deleted there.  Raises `BadInput`
    without a token, and if the hub refuses the upload or cannot be reached.
    """
    import httpx2  # slow to import, as the next
    from huggingface_hub import HfApi, get_token

    if get_token() is None:
        what = "there is no token for the model hub"
        raise BadInput(what, where="push", do="set HF_TOKEN, or run hf auth login")
    api = HfApi()
    try:
        api.create_repo(repository, repo_type="dataset", exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=folder,
            ignore_patterns=[".*"],
            delete_patterns=["*"],
            commit_message="Export of lextables",
        )
    except (OSError, httpx2.HTTPError) as error:
        reason = first_line(error) or type(error).__name__
        what = f"the model hub does not take {repository} ({reason})"
        do = "check the name, the network and the token's permission to write"
        raise BadInput(what, where="push", do=do) from error
    return str(commit.commit_url)
