# Which bundles there are, and what each is made from.


def bundles():
    """{bundle: its paper and its data sets}: one for each paper, and one for each data set that stands alone.

    Data sets that are auxiliary are other people's, which a paper's models are trained on first.
    """
    found = {}
    for paper in CONFIG.papers:
        entry = PAPERS[paper]
        alone = entry.publish.apart
        borrowed = {name for name, one in entry.data.items() if one.auxiliary}
        own = {paper, *entry.data, *entry.tasks} - borrowed - alone.keys()
        found[paper] = (paper, sorted(own))
        found |= {name: (paper, [name]) for name in alone}
    return found


# What the forms of a data set go by of its task.
HANDED_ON_BY = {"task", "names", "forms", "training", "validation", "test", "pool", "views"}


def bundle_about(wildcards):
    """What the paper's file says that a bundle shows."""
    name, sets = BUNDLES[wildcards.bundle]
    paper = PAPERS[name]
    told = paper.model_dump(mode="json", include={"title", "citation", "publish"})
    tasks = {one: paper.tasks[one] for one in sets if one in paper.tasks}
    by_task = {one: task.model_dump(mode="json", include=HANDED_ON_BY) for one, task in tasks.items()}
    return told | {"tasks": by_task}


def bundle_census(wildcards):
    """The census of each data set of a bundle, beside which its tables lie."""
    return [f"{RESULTS}/data/{name}/census.json" for name in BUNDLES[wildcards.bundle][1]]


def bundle_rows(bundle):
    """{folder of a run: the rows that it fills} of those on the data sets of a bundle.

    Without the runs of predictions that a user gave: they are not ours to hand on.
    """
    paper, names = BUNDLES[bundle]
    found = {}
    for row in (row for rows in PLANS[paper].rows.values() for row in rows if not row["given"]):
        for folder in (folder for runs in row["runs"].values() for folder in runs):
            if folder.split("/")[1] in names:
                found.setdefault(folder, set()).add(row["row"])
    return {folder: sorted(found[folder]) for folder in sorted(found)}


def bundle_files(file):
    """What gives a file of each run whose predictions a bundle holds."""
    return lambda wildcards: [f"{RESULTS}/{folder}/{file}" for folder in bundle_rows(wildcards.bundle)]
