"""Which known bugs a launch can meet, what covers each, and the command that meets none.

``conditions`` asks a launch whether an entry's triggers hold, ``judge`` puts that together with what is in the
environment, ``models`` says what a model is called, ``values`` has what comes of it. How a launch is read and edited
is in ``launch``.
"""

from patchctl.advice.judge import advise_launch
from patchctl.advice.models import model_directory, model_names
from patchctl.advice.values import Coverage, EntryAdvice, Exposure, LaunchAdvice, ModelNames, Surroundings, Way

__all__ = [
    "Coverage",
    "EntryAdvice",
    "Exposure",
    "LaunchAdvice",
    "ModelNames",
    "Surroundings",
    "Way",
    "advise_launch",
    "model_directory",
    "model_names",
]
