"""A hundred everyday errors that have nothing to do with GPUs, processes or mixed precision: the clinic claims none.

Most are programs that are run and fail; the others are messages of packages that the course does not install.
"""

PYTHON = """
1/0
[][3]
{}["missing"]
{}["rank"]
int("x")
undefined_name
None.shape
"a" + 1
1 + "a"
len(5)
(lambda x: x)()
(lambda x: x)(1, 2)
print(1, 2, seperator="")
[1, 2, 3].push(4)
"abc".foo
import no_such_module
from math import no_such_name
open("no_such_file.txt")
open("/")
raise RuntimeError("out of memory is not what this says")
raise ValueError("the device is broken")
raise RuntimeError("rank 3 is wrong")
raise RuntimeError("Connection refused by the user")
raise OSError(98, "Address already in use")
raise ConnectionResetError(104, "Connection reset by peer")
raise BrokenPipeError(32, "Broken pipe")
raise ConnectionRefusedError(111, "Connection refused")
raise TimeoutError("timed out")
raise OSError(24, "Too many open files")
raise OSError(28, "No space left on device")
raise OSError(12, "Cannot allocate memory")
raise MemoryError()
raise PermissionError(13, "Permission denied")
raise KeyboardInterrupt
assert 1 == 2
assert False, "loss is not finite"
eval("1 +")
exec("def f(:")
exec("if True:\\nprint(1)")
float("nan").hex().foo
"{} {}".format(1)
"%d" % "x"
a, b = 1, 2, 3
for i in 5: pass
next(iter([]))
[1, 2].index(9)
{1, 2}.items()
{[]: 1}
bytes([300])
b"a" + "b"
"é".encode("ascii")
b"\\xff".decode("utf-8")
chr(-1)
range(1.5)
sorted([1, "a"])
sum(["a"])
object().x
type("A", (), {})().method()
class A: pass\\nA(1)
import json; json.loads("{")
import json; json.dumps(object())
import pickle; pickle.loads(b"x")
import pickle; pickle.dumps(open(__import__('os').devnull))
import subprocess, sys; subprocess.run([sys.executable, "-c", "raise SystemExit(2)"], check=True)
import subprocess; subprocess.run(["no_such_program"])
import socket; socket.create_connection(("127.0.0.1", 9), timeout=0.2)
import re; re.compile("(")
import datetime; datetime.date(2020, 13, 1)
import os; os.environ["NO_SUCH_VARIABLE"]
import tomllib; tomllib.loads("a = ")
import queue; queue.Queue().get(timeout=0.01)
import threading; threading.Lock().release()
import asyncio; asyncio.run(asyncio.wait_for(asyncio.sleep(9), 0.01))
def f(n): return f(n + 1)\\nf(0)
"""

NUMPY = """
np.ones(3)[5]
np.ones((2, 3))[2, 0]
np.ones((2, 3)) @ np.ones((2, 3))
np.ones(3) + np.ones(4)
np.concatenate([np.ones((2, 2)), np.ones((3, 3))])
np.array([1, 2]).reshape(3, 3)
np.linalg.inv(np.zeros((2, 2)))
np.stack([np.ones(2), np.ones(3)])
np.array("x").astype(float)
np.load("no_such_file.npy")
np.ones(2).foo
np.random.choice([], 1)
np.ones(3).item()
np.einsum("ij,jk", np.ones((2, 2)), np.ones((3, 3)))
np.zeros(3)[[True, False]]
np.dtype("float99")
"""

TORCH = """
torch.ones(2).backward()
x = torch.ones(2, requires_grad=True); (x * 2).backward()
x = torch.ones(1, requires_grad=True); y = x * 2; y.backward(); y.backward()
x = torch.ones(1, requires_grad=True); x += 1
torch.ones(2, 3).view(5)
torch.ones(2, 3).reshape(4, 2)
torch.ones(2).item()
torch.tensor([1, 2])[0, 0]
torch.ones(2) + torch.ones(3)
torch.ones(3, dtype=torch.int64).mean()
torch.tensor("text")
torch.tensor([[1], [1, 2]])
torch.nn.Linear(2)
torch.nn.Conv2d(3, 6, 3)(torch.ones(1, 1, 8, 8))
torch.nn.Module()(1)
torch.nn.BatchNorm1d(2)(torch.ones(1, 2))
torch.load("no_such_file.pt")
torch.nn.Linear(2, 2).load_state_dict(3)
torch.optim.SGD([], lr=0.1)
torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=-1)
torch.ones(2).transpose(0, 5)
torch.zeros(2).squeeze(4)
torch.linalg.inv(torch.zeros(2, 2))
torch.from_numpy([1])
torch.ones(2, 2) @ torch.ones(3)
torch.no_such_function()
torch.ones(-1)
torch.arange(3).softmax(0)
torch.ones(2).to(torch.no_such_type)
torch.utils.data.DataLoader([1, 2], batch_size=0)
torch.manual_seed("x")
torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), mode="x")
"""

TEXTS = """
torch._dynamo.exc.InvalidBackend: Invalid backend: 'inductr', see `torch._dynamo.list_backends()` for available backends.
RuntimeError: Unknown backend type. (torch/backends/cuda/__init__.py)
ValueError: Unknown backend 'foo' while importing torch and matplotlib
File "pandas/core/indexes/base.py", line 3812, in get_loc; KeyError: 'RANK'
subprocess.CalledProcessError: Command '['ffmpeg', '-i', 'in.mp4']' died with <Signals.SIGSEGV: 11>.
UserWarning: Plan failed with a cudnnException: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: cudnnFinalizeDescriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED (Triggered internally at Conv_v8.cpp:919.)
Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file or directory
KeyError: 'col'
KeyError: "['colour'] not in index"
ValueError: Length of values (2) does not match length of index (3)
ValueError: cannot reindex on an axis with duplicate labels
ValueError: If using all scalar values, you must pass an index
IndexError: single positional indexer is out-of-bounds
AttributeError: 'DataFrame' object has no attribute 'append'
pandas.errors.ParserError: Error tokenizing data. C error: Expected 3 fields in line 4, saw 5
pandas.errors.EmptyDataError: No columns to parse from file
pandas.errors.MergeError: No common columns to perform merge on.
TypeError: Cannot convert bool to numpy.ndarray
SettingWithCopyWarning: A value is trying to be set on a copy of a slice from a DataFrame
sklearn.exceptions.NotFittedError: This StandardScaler instance is not fitted yet. Call 'fit' with appropriate arguments before using this estimator.
ValueError: Found input variables with inconsistent numbers of samples: [10, 9]
OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 8888): address already in use
Error: listen EADDRINUSE: address already in use :::3000
requests.exceptions.ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))
urllib.error.URLError: <urlopen error [Errno 111] Connection refused>
huggingface_hub.utils._errors.RepositoryNotFoundError: 404 Client Error.
FileNotFoundError: [Errno 2] No such file or directory: 'model.safetensors'
fatal error: cuda.h: No such file or directory is what a compiler says
ERROR: Could not find a version that satisfies the requirement torch==9.9.9 (from versions: 2.9.0)
ERROR: No matching distribution found for torch
PackagesNotFoundError: The following packages are not available from current channels:
tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:
matplotlib.units.ConversionError: Failed to convert value(s) to axis units: ['a']
jinja2.exceptions.TemplateNotFound: index.html
OSError: [WinError 126] The specified module could not be found: 'libpq.dll'
PermissionError: [WinError 32] The process cannot access the file because it is being used by another process
sqlite3.OperationalError: database is locked
ModuleNotFoundError: No module named 'tritonclient'
UnpicklingError: invalid load key, 'x'.
File "joblib/numpy_pickle.py", line 658, in load; obj = unpickler.load(); AttributeError: Can't get attribute 'Tokenizer' on <module '__main__' from 'app.py'>
Process finished with exit code 0
File "cache.py", line 3, in store; _pickle.PicklingError: Can't pickle <function <lambda> at 0x7f>: attribute lookup <lambda> on __main__ failed
[1]    41782 terminated  python server.py
SyntaxError: EOFError is what an empty file gives
npm ERR! code EPIPE: write EPIPE, Broken pipe
ERROR: web exited with code 143
Size mismatch for column 3: expected 12, got 9
E/AndroidRuntime: the camera could not be found in the store, socket closed by user
WARNING: the compiler is not found in the cache, compiling again
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]] is at version 1; expected version 0 instead.
[launch.py:347:main] the job exits with return code = 0
Kernel 6.8.0 started; MPS backend is available and in use
The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1
module 'shop' must have its parameters written down
"""
