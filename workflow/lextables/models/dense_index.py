"""The inner product between vectors, through faiss."""

import faiss
import numpy as np


def nearest(query: np.ndarray, parts: np.ndarray) -> float:
    """Return the greatest inner product of a query's vector and those of a document's parts (parts, d).

    Both are float32.  Each product is computed by itself, so what is equal comes out equal, whatever else is
    compared.
    """
    parts = np.ascontiguousarray(parts)
    products = np.empty(len(parts), dtype=np.float32)
    faiss.fvec_inner_products_ny(*map(faiss.swig_ptr, (products, query, parts)), parts.shape[1], len(parts))
    return float(products.max())
