"""What forecast.py can be asked for, with a name and a reason for each bad value."""

import math
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from run_folder import RunError, read_run

TRAINING = {
    "small": {"epochs": 4, "batch": 32, "learning_rate": 4e-3},
    "full": {"epochs": 10, "batch": 256, "learning_rate": 5e-4},
}
DEFAULTS = {"data": "series.csv", "results": "results", "name": "informer"}
DEFAULTS |= {"model": "informer", "size": "small", "precision": "float32"}
DEFAULTS |= {
    "workers": 0,
    "seed": 0,
    "watch": 1.0,
    "compile": False,
    "cpu": False,
    "plots": True,
}
SHAPE = ["past", "ahead", "attention"]  # what may be set of a model's sizes
# A run goes on only as it began: its windows and its learning rate follow a plan.
LASTING = ["model", "size", "epochs", "batch", "learning_rate", "precision", "seed"]


def number(text: str, kind: type, low: float, high: float = math.inf) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not low <= value < high:
        name = "whole number" if kind is int else "number"
        more = f" and below {high}" if high < math.inf else ""
        allowed = f"give a {name} from {low:g}{more}"
        raise ArgumentTypeError(f"{text!r} is not allowed; {allowed}")
    return value


def amount(text: str) -> float:
    """Return 2 for "2", not 2.0."""
    return int(text) if text.isdigit() else float(text)


def folder_name(text: str) -> str:
    if not text.strip(" .") or set(text) & set('/\\:*?"<>|'):
        allowed = "give part of a folder's name"
        raise ArgumentTypeError(f"{text!r} is not allowed; {allowed}")
    return text


def help_text(name: str, text: str) -> str:
    """Return the text with the default value, which may depend on the size."""
    name = name.replace("-", "_")
    if name in TRAINING["small"]:
        values = (f"{own[name]:g} if {size}" for size, own in TRAINING.items())
        default = ", ".join(values)
    else:
        default = DEFAULTS.get(name)
    shown = default is not None and name not in ("compile", "cpu")
    return f"{text} (default: {default})" if shown else text


def make_parser() -> ArgumentParser:
    described = "Forecast a time series, on 0, 1 or N GPUs."
    # Without its default, what was not given is told from what was.
    parser = ArgumentParser(description=described, argument_default=SUPPRESS)

    def add(name: str, text: str, **settings: object) -> None:
        parser.add_argument(f"--{name}", help=help_text(name, text), **settings)

    def whole(low: int, **more: int) -> partial:
        return partial(number, kind=int, low=low, **more)

    precisions = ["float32", "tf32", "bfloat16", "float16"]
    add("data", "a CSV file: date, then numbers; series.csv is made if absent")
    add("results", "where the folders of all runs are")
    add("name", "begins the name of this run's folder", type=folder_name)
    add("model", "a file of this folder, such as mlp, that defines Model and SIZES")
    add("size", "of the model and of its training", choices=list(TRAINING))
    add("past", "steps that the model sees; otherwise its size says", type=whole(1))
    add("ahead", "steps to forecast; otherwise its size says", type=whole(1))
    attentions = ["sparse", "plain"]
    add("attention", "of the Informer's steps to each other", choices=attentions)
    share = partial(number, kind=amount, low=0.01)
    add("epochs", "how often all windows are seen, such as 0.5 or 4", type=share)
    add("batch", "windows in one step, of all ranks together", type=whole(1))
    rate = partial(number, kind=float, low=1e-9)
    add("learning-rate", "the highest one, after warm-up", type=rate)
    add("precision", "of the products of matrices", choices=precisions)
    reason = "processes per rank that read windows; 0: the device holds the series"
    add("workers", reason, type=whole(0))
    add("seed", "of weights, order and dropout", type=whole(0, high=2**63))
    look = partial(number, kind=float, low=0)
    add("watch", "seconds between two looks at the devices; 0: never", type=look)
    add("compile", "use torch.compile", action="store_true")
    add("cpu", "use no GPU", action="store_true")
    add("no-plots", "draw nothing at the end", dest="plots", action="store_false")
    add("resume", "the folder of a run: go on with it, as it began", metavar="FOLDER")
    return parser


def arguments(words: list[str] | None = None) -> Namespace:
    """Return what was asked for; to resume, what the run's folder says."""
    parser = make_parser()
    given = vars(parser.parse_args(words))
    size = given.get("size", DEFAULTS["size"])
    asked = {"resume": None} | DEFAULTS | TRAINING[size]
    asked["name"] = given.get("model", DEFAULTS["model"])
    if "resume" in given:
        config = read_run(given["resume"]).config
        check_resumed(parser, given, config)
        asked |= {name: config[name] for name in asked.keys() & config.keys()}
    shape = {name: given.pop(name) for name in SHAPE if name in given}
    options = Namespace(**(asked | given))
    options.module = model_file(parser, options.model)
    settings = dict(options.module.SIZES[size])
    for name in shape.keys() - settings.keys():
        parser.error(f"--{name}: the model {options.model} has no such setting")
    settings |= shape
    if "start" in settings:  # a part of the past
        settings["start"] = min(settings["start"], settings["past"])
    if "resume" in given:
        settings = config["settings"]
    options.data, options.results = Path(options.data), Path(options.results)
    options.settings = settings
    return options


def model_file(parser: ArgumentParser, name: str) -> ModuleType:
    """Return the file of this folder that defines the model."""
    try:
        found = import_module(name)
    except ImportError as error:
        parser.error(f"--model {name}: {error}")
    if not (hasattr(found, "Model") and hasattr(found, "SIZES")):
        parser.error(f"--model {name}: {name}.py must define Model and SIZES")
    return found


def check_resumed(parser: ArgumentParser, given: dict, config: dict) -> None:
    """Name what contradicts the run that is to go on."""
    for name in (*LASTING, "digest", "settings"):
        if name not in config:
            raise RunError(f"{given['resume']}/config.json has no {name!r}")
    for name in ("name", "results"):
        if name in given:
            parser.error(f"--{name} and --resume exclude each other")
    began = {name: config["settings"].get(name) for name in SHAPE} | config
    for name in (*LASTING, *SHAPE):
        if given.get(name, began[name]) != began[name]:
            option, before = f"--{name.replace('_', '-')}", began[name]
            parser.error(f"{option} {given[name]}: the run began with {before}")
