# What the rules of EDGAR read.


def edgar_contracts(wildcards):
    """The contracts of the quarters that are asked for."""
    if not CONFIG.edgar_quarters:
        raise BadInput(
            "edgar_quarters is empty",
            where="config",
            do="name quarters, as in --config edgar_quarters='[2020-QTR1]'",
        )
    return expand(f"{EDGAR}.parquet", quarter=CONFIG.edgar_quarters)
