"""What a model is called: by its launch, and by the ``config.json`` that lies with its weights."""

from __future__ import annotations

from patchctl.advice.values import ModelNames
from patchctl.launch import Launch, State, model_of, option, read_object

_LISTS = ("architectures",)
_WORDS = ("model_type", "_name_or_path")


def model_directory(launch: Launch) -> str | None:
    """Return the directory that the launch names as its model; None: it names none, or a repository of a hub."""
    model = model_of(launch)
    path = str(model.value) if model.state is State.GIVEN else ""
    return path if path.startswith(("/", "./", "../", "~")) else None


def model_names(launch: Launch | None, config: str | None = None) -> ModelNames:
    """Return what the model of a launch is called.

    Args:
        launch: the launch; None: none is given.
        config: the text of its ``config.json``; None: not to be read.

    A repository's name is taken at its word. A directory may be called anything, so that it says nothing of what it is
    not called, unless its configuration can be read.
    """
    if launch is None:
        return ModelNames()
    quantization = option(launch, "--quantization")
    given = quantization.value if isinstance(quantization.value, tuple) else ()
    told = _told(config)
    model = model_of(launch)
    if model.state is not State.GIVEN or not model.value:
        return ModelNames(names=(*given, *told), why=model.why or "the launch names no model")
    path = str(model.value)
    names = dict.fromkeys((path, path.rstrip("/").rpartition("/")[2], *given, *told))
    sure = model_directory(launch) is None or bool(told)
    why = "" if sure else f"the directory {path} does not tell which model it is"
    return ModelNames(names=tuple(names), sure=sure, why=why)


def _told(config: str | None) -> tuple[str, ...]:
    values = read_object(config) if config is not None else None
    if values is None:
        return ()
    lists = [values.get(key) for key in _LISTS]
    found = [item for it in lists if isinstance(it, list) for item in it] + [values.get(key) for key in _WORDS]
    quantization = values.get("quantization_config")
    if isinstance(quantization, dict):
        method = quantization.get("quant_method")
        found += [method, f"{method}-block" if quantization.get("weight_block_size") else None]
    return tuple(item for item in found if isinstance(item, str) and item)
