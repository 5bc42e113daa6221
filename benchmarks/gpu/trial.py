"""Trial: every quantity on the card against the CPU and against copy bandwidth, for several block sizes."""

import dataclasses, json, os, sys, time

sys.path.insert(0, "src")
import numpy as np, torch
import dalembert as da
from dalembert.kernel import cuda
from dalembert.quantities import machine
from dalembert.quantities.joints import JOINTS


def described(t):
    return cuda.DeviceArray(
        t.data_ptr(),
        tuple(t.shape),
        tuple(s * t.element_size() for s in t.stride()),
        "double" if t.dtype == torch.float64 else "float",
        t.device.index,
    )


def recipe(arm, name, scalar):
    e = JOINTS[name]
    return cuda.Recipe(
        ("trial", arm.name, name, machine.identity(arm.mechanism)),
        machine.signature(arm.mechanism, e),
        lambda: machine.trace(arm.mechanism, e),
        scalar,
    )


def timed(f, n=20):
    for _ in range(3):
        f()
    torch.cuda.synchronize()
    best = 1e9
    for _ in range(5):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(n):
            f()
        b.record()
        torch.cuda.synchronize()
        best = min(best, a.elapsed_time(b) / n * 1e-3)
    return best


arm = da.load("panda")
N = int(os.environ.get("N", 1 << 22))
rng = np.random.default_rng(0)
x = torch.empty(1 << 29, dtype=torch.float64, device="cuda")
y = torch.empty_like(x)
t = timed(lambda: y.copy_(x))
copy = 2 * x.numel() * 8 / t
print(f"copy {copy / 1e12:.3f} TB/s", torch.cuda.get_device_name())
del x, y
names = sys.argv[1:] or [
    "inverse_dynamics",
    "forward_dynamics",
    "inertia_matrix",
    "coriolis_matrix",
    "jacobian",
    "gravity_torque",
    "torque_derivatives",
    "forward_derivatives",
    "regressor",
]
for name in names:
    for scalar, dt in (("double", torch.float64), ("float", torch.float32)):
        try:
            r = recipe(arm, name, scalar)
            sig = r.signature
            t0 = time.time()
            ins = [torch.from_numpy(rng.uniform(-2, 2, (N, *s))).to(device="cuda", dtype=dt) for _, s in sig.inputs]
            outs = [torch.empty((N, *s), dtype=dt, device="cuda") for _, s in sig.outputs]
            stream = torch.cuda.current_stream().cuda_stream
            t0 = time.time()
            k = r.loaded(0, False)
            made = time.time() - t0
            run = lambda: cuda.launch(r, [described(v) for v in ins], [described(v) for v in outs], stream)
            run()
            torch.cuda.synchronize()
            M = 2000
            ker = arm.kernel(name)
            want = ker(*[v[:M].cpu().double().numpy() for v in ins])
            want = want if isinstance(want, tuple) else (want,)
            err = max(
                float(np.abs(o[:M].cpu().double().numpy() - w).max() / np.abs(w).max())
                for o, w in zip(outs, want)
                if np.abs(w).max() > 0
            )
            far = [v[:M].clone() for v in ins]
            far[0] *= 1e9
            fo = [torch.empty((M, *s), dtype=dt, device="cuda") for _, s in sig.outputs]
            cuda.launch(r, [described(v) for v in far], [described(v) for v in fo], stream)
            torch.cuda.synchronize()
            want = ker(*[v.cpu().double().numpy() for v in far])
            want = want if isinstance(want, tuple) else (want,)
            errf = max(
                float(np.abs(o.cpu().double().numpy() - w).max() / np.abs(w).max())
                for o, w in zip(fo, want)
                if np.abs(w).max() > 0
            )
            # strided: transposed inputs, broadcast
            si = [torch.as_strided(v[:M].t().contiguous(), (M, v.shape[1]), (1, M)) for v in ins]
            so = [torch.empty((M, *s), dtype=dt, device="cuda") for _, s in sig.outputs]
            cuda.launch(r, [described(v) for v in si], [described(v) for v in so], stream)
            torch.cuda.synchronize()
            errs = max(float((a - b[:M]).abs().max()) for a, b in zip(so, outs))
            nbytes = sum(v.numel() * v.element_size() for v in ins + outs)
            row = []
            shared = cuda._shared_bytes(r)
            for block in (32, 64, 128, 256):
                if block * shared > 227 * 1024:
                    continue
                forced = dataclasses.replace(k, block=block, shared=block * shared)
                key = next(kk for kk, v in cuda._modules.items() if v is k or v.function is k.function)
                cuda._modules[key] = forced
                with cuda._current(0):
                    cuda._call(
                        "cuFuncSetAttribute",
                        k.function,
                        cuda._driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                        max(block * shared, 1),
                    )
                s = timed(run)
                row.append(f"{block}:{N / s / 1e9:.2f}G={nbytes / s / copy * 100:.0f}%")
            regs = [
                cuda._call("cuFuncGetAttribute", getattr(cuda._driver().CUfunction_attribute, a), k.function)
                for a in ("CU_FUNC_ATTRIBUTE_NUM_REGS", "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES")
            ]
            small = {}
            for n in (1024, 4096):
                ii = [described(v[:n]) for v in ins]
                oo = [described(v[:n]) for v in outs]
                small[n] = timed(lambda: cuda.launch(r, ii, oo, stream), 200) * 1e6
            print(
                name,
                scalar,
                f"made {made:.1f}s chosen {k.block}",
                *row,
                f"regs {regs} err {err:.1e} far {errf:.1e} strided {errs:.1e}",
                {k_: round(v, 1) for k_, v in small.items()},
                flush=True,
            )
            del ins, outs
        except Exception as problem:
            import traceback

            traceback.print_exc()
        torch.cuda.empty_cache()
t0 = time.time()
d = [cuda.DeviceArray(1, (4, 7), (56, 8), "double", 0)] * 3
