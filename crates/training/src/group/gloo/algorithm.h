// libtorch comes with c10d's header of Gloo, and not with Gloo's own. This folder declares what that header uses, as far
// as Gloo defines it; the code is in libtorch.
#pragma once
