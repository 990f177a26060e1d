def orthogonalize(v):
    """sqrt(max(1, r/c)) v with its singular values brought near 1, by Newton-Schulz steps."""
    x = v.flatten(1)
    rows, columns = x.shape
    if rows > columns:
        x = x.T
    x = x / (x.norm() + EPSILON)
    for _ in range(STEPS):
        k = x @ x.T
        x = LINEAR * x + (CUBIC * k + QUINTIC * k @ k) @ x
    if rows > columns:
        x = x.T
    return max(1, rows / columns) ** 0.5 * x.reshape(v.shape)


def block_mean(x, blocks):
    """For each element the mean over its block: by default a row, or an element of a vector."""
    if blocks is None:
        blocks = x.numel() if x.ndim < 2 else len(x)
    means = x.reshape(blocks, -1).mean(dim=1, keepdim=True)
    return means.expand(blocks, x.numel() // blocks).reshape(x.shape)


def outer(g):
    """The product of g with itself for each axis that is not too long."""
    if g.ndim < LEAST_AXES:
        return {}
    rows = {i: g.movedim(i, 0).reshape(n, -1) for i, n in enumerate(g.shape) if 0 < n <= LONGEST}
    return {i: x @ x.T for i, x in rows.items()}


def turn(x, Q, back=False):
    """The components of x along the columns of Q, for each axis; `back` is the inverse."""
    for i, q in Q.items():
        x = torch.tensordot(q, x, dims=([1 if back else 0], [i])).movedim(0, i)
    return x


def precondition(x, P):
    """The product of x with P along each axis."""
    for i, a in P.items():
        x = torch.tensordot(a, x, dims=([1], [i])).movedim(0, i)
    return x


def inverse_root(a, eps, order):
    """(a + eps I) to the power -1/order of a symmetric matrix a."""
    # There is no decomposition of half precision.
    values, vectors = torch.linalg.eigh(a.to(torch.promote_types(a.dtype, torch.float32)))
    return (vectors * (values.clamp(min=0) + eps) ** (-1 / order) @ vectors.T).to(a.dtype)


def eigenvectors(L):
    """The eigenvectors of each matrix as columns, by falling eigenvalue."""
    # There is no decomposition of half precision.
    wide = {i: a.to(torch.promote_types(a.dtype, torch.float32)) for i, a in L.items()}
    return {i: torch.linalg.eigh(a).eigenvectors.flip(1).to(L[i].dtype) for i, a in wide.items()}


def refresh(Q, L, s):
    """A step of orthogonal iteration of Q with L, in place. s follows the order of the columns."""
    for i, a in L.items():
        x = a @ Q[i]
        order = (Q[i] * x).sum(dim=0).argsort(descending=True, stable=True)
        s.copy_(s.index_select(i, order))
        x = x[:, order].to(torch.promote_types(a.dtype, torch.float32))
        Q[i] = torch.linalg.qr(x).Q.to(a.dtype)
