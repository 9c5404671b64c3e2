"""Upload of an export to the model hub, as a repository of the kind data set."""

from pathlib import Path
from typing import TYPE_CHECKING

from lextables.pipeline.errors import BadInput, first_line
from lextables.publish.export import Export
from lextables.sources.entries import SAMPLE
from lextables.sources.licences import licence_of

if TYPE_CHECKING:
    from huggingface_hub import HfApi

NO_LICENCE = "none stated"  # the start of a licence in the registry
COMMIT = "Export of lextables"  # title of the commits of uploads
NEW = {".gitattributes"}  # files of a repository without any upload


def check_redistribution(export: Export) -> None:
    """Raise `BadInput` if a text of the export may not be redistributed, or is of the
    sample: its export would replace that of the release.
    """
    if any(source["variant"] == SAMPLE for source in export.sources):
        what = "exports of the sample are not uploaded, because its texts are invented"
        raise BadInput(what, where=export.name, do="set data to release")
    reason = export.redistribution
    for source in export.sources:
        if licence_of(source).statement.startswith(NO_LICENCE):
            reason = f"no licence is stated for {source['title']}"
    if reason:
        what = f"this export may not be redistributed: {reason.rstrip('.')}"
        raise BadInput(what, where=export.name, do="leave its paper out of papers")


def push(folder: Path, repository: str) -> str:
    """Upload the files of an export, and return the address of the commit.

    ``repository`` is ``<owner>/<name>``; it is created if it does not exist.  Its files
    that this export lacks are deleted.  Raises `BadInput` without a token, if the
    repository has files but no upload of an export, and if the hub refuses the upload
    or cannot be reached.
    """
    import httpx2  # slow to import, like huggingface_hub
    from huggingface_hub import HfApi, get_token

    if get_token() is None:
        what = "there is no token for the model hub"
        raise BadInput(what, where="push", do="set HF_TOKEN, or run hf auth login")
    api = HfApi()
    try:
        api.create_repo(repository, repo_type="dataset", exist_ok=True)
        if not _is_replaceable(api, repository):
            what = f"{repository} has files, and none of its commits is an upload of an export"
            do = "give another name after push, or delete this repository"
            raise BadInput(what, where="push", do=do)
        commit = api.upload_folder(
            repo_id=repository,
            repo_type="dataset",
            folder_path=folder,
            ignore_patterns=[".*"],
            delete_patterns=["*"],
            commit_message=COMMIT,
        )
    except (OSError, httpx2.HTTPError) as error:
        reason = first_line(error) or type(error).__name__
        what = f"the model hub does not take {repository} ({reason})"
        do = "check the name, the network and the token's permission to write"
        raise BadInput(what, where="push", do=do) from error
    return str(commit.commit_url)


def _is_replaceable(api: "HfApi", repository: str) -> bool:
    """Whether a repository has no files, or a commit of an earlier upload."""
    files = api.list_repo_files(repository, repo_type="dataset")
    if NEW.issuperset(files):
        return True
    commits = api.list_repo_commits(repository, repo_type="dataset")
    return any(commit.title == COMMIT for commit in commits)
