# The bundles, and their inputs and params.


def bundles():
    """{bundle: its paper and its data sets}: one for each paper, and one for each data set published separately.

    Auxiliary data sets are left out: others published them.
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


# The fields of a task that the formats of its data set depend on.
HANDED_ON_BY = {"task", "names", "forms", "training", "validation", "test", "pool", "views"}


def bundle_about(wildcards):
    """Param: the parts of the paper's file that a bundle shows."""
    name, sets = BUNDLES[wildcards.bundle]
    paper = PAPERS[name]
    about = paper.model_dump(mode="json", include={"title", "citation", "publish"})
    tasks = {one: paper.tasks[one] for one in sets if one in paper.tasks}
    by_task = {one: task.model_dump(mode="json", include=HANDED_ON_BY) for one, task in tasks.items()}
    return about | {"tasks": by_task}


def bundle_census(wildcards):
    """Input: the census of each data set of a bundle."""
    return [f"{RESULTS}/data/{name}/census.json" for name in BUNDLES[wildcards.bundle][1]]


def bundle_rows(bundle):
    """{run folder: the rows that it fills} for the data sets of a bundle, without submitted predictions."""
    paper, names = BUNDLES[bundle]
    found = {}
    for row in (row for rows in PLANS[paper].rows.values() for row in rows if not row["given"]):
        for folder in (folder for runs in row["runs"].values() for folder in runs):
            if folder.split("/")[1] in names:
                found.setdefault(folder, set()).add(row["row"])
    return {folder: sorted(found[folder]) for folder in sorted(found)}


def bundle_files(file):
    """Input function: a file of each run in a bundle."""
    return lambda wildcards: [f"{RESULTS}/{folder}/{file}" for folder in bundle_rows(wildcards.bundle)]
