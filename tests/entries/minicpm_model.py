"""Runs the two classes of ``minicpmv4_6.py`` that count placeholders, without importing vLLM or transformers.

The classes are executed as they stand in the file, over stand-ins for their bases and for what they call. The image
processor's stand-in has the arithmetic of the one in transformers 5.7 to 5.16; it is also what the vision encoder sees,
so it says how many embeddings there will be. Nothing is judged here.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.entries.minicpm_entry import PARSE_FILE, patched
from tests.entries.mm_patched import read_release

IMAGE, VIDEO = "I", "V"
"""The tokens of which each stands for one embedding; every token is a character here, or a tag."""

CLASSES = ("MiniCPMV4_6MultiModalProcessor", "MiniCPMV4_6ProcessingInfo")

Grid = tuple[int, int]


class ImageProcessor:
    """Sizes are (height, width), a grid is (rows, columns)."""

    max_slice_nums = 9
    scale_resolution = 448
    patch_size = 14
    downsample_mode = "16x"

    def get_sliced_grid(self, image_size: Grid, max_slice_nums: int, scale_resolution: int) -> list[int] | None:
        """Return the grid nearest to the image's proportions, of equals the one with more rows; None: not cut."""
        height, width = image_size
        wanted = min(math.ceil(height * width / scale_resolution**2), max_slice_nums)
        if wanted <= 1:
            return None
        numbers = [number for number in (wanted - 1, wanted, wanted + 1) if 1 < number <= max_slice_nums]
        grids = [[rows, number // rows] for number in numbers for rows in range(1, number + 1) if number % rows == 0]
        slope = math.log(width / height)
        return min(grids, key=lambda grid: (abs(slope - math.log(grid[1] / grid[0])), -grid[0]))

    def find_best_resize(
        self, image_size: tuple[float, float], scale_resolution: int, patch_size: int, allow_upscale: bool = False
    ) -> Grid:
        """Return the size to which an image, or a slice, is brought; not the same for a transposed one."""
        height, width = image_size
        if height * width > scale_resolution**2 or allow_upscale:
            slope = width / height
            height = int(scale_resolution / math.sqrt(slope))
            width = int(height * slope)
        return _nearest(height, patch_size * 4), _nearest(width, patch_size * 4)

    def get_refine_size(
        self, image_size: Grid, grid: Sequence[int], scale_resolution: int, patch_size: int, allow_upscale: bool
    ) -> Grid:
        """Return the size to which an image is brought before it is cut."""
        slice_size = [_nearest(length, number) / number for length, number in zip(image_size, grid, strict=True)]
        best = self.find_best_resize((slice_size[0], slice_size[1]), scale_resolution, patch_size, allow_upscale)
        return best[0] * grid[0], best[1] * grid[1]

    def cut(self, height: int, width: int, max_slice_nums: int) -> tuple[Grid, list[Grid]]:
        """Return the grid, (0, 0) for none, and the (height, width) in patches of the overview and of each slice."""
        grid = self.get_sliced_grid((height, width), max_slice_nums, self.scale_resolution)
        fit = functools.partial(self.find_best_resize, scale_resolution=448, patch_size=self.patch_size)
        overview = _patches(fit((height, width), allow_upscale=grid is None), (1, 1))
        if grid is None:
            return (0, 0), [overview]
        refined = self.get_refine_size((height, width), grid, 448, self.patch_size, allow_upscale=True)
        return (grid[0], grid[1]), [overview, *[_patches(refined, grid)] * (grid[0] * grid[1])]

    def __call__(self, images: Sequence[Any], *, max_slice_nums: int | None = None, **options: object) -> Any:
        """Return the tensors that the encoder gets for one image, all slices side by side."""
        torch: Any = __import__("torch")
        (image,) = images
        _, sizes = self.cut(image.height, image.width, max_slice_nums or self.max_slice_nums)
        # One channel of one line will do: only widths are looked at.
        pixels = torch.zeros(1, 1, 1, sum(rows * columns for rows, columns in sizes) * self.patch_size)
        return {"pixel_values": pixels, "target_sizes": torch.tensor(sizes, dtype=torch.int32)}


class Expected(NamedTuple):
    """What the encoder makes of an image: embeddings an overview or slice, and the grid, (0, 0) for none."""

    grid: Grid
    counts: list[int]

    @property
    def embeddings(self) -> int:
        """All embeddings of the image."""
        return sum(self.counts)

    def text(self, index: int = 0, token: str = IMAGE) -> str:
        """Return the text that the model was trained on: a line for each row of slices."""
        (overview, *slices), (rows, columns) = self.counts, self.grid
        cells = [f"<slice>{token * count}</slice>" for count in slices]
        lines = ["".join(cells[row * columns : (row + 1) * columns]) for row in range(rows)]
        return f"<image_id>{index}</image_id><image>{token * overview}</image>" + "\n".join(lines)


def encoded(width: int, height: int, max_slice_nums: int = 9) -> Expected:
    """Return what the encoder makes of an image."""
    grid, sizes = ImageProcessor().cut(height, width, max_slice_nums)
    return Expected(grid=grid, counts=[rows * columns // 16 for rows, columns in sizes])


class Model:
    """The classes of one release, with the diffs of some entries in."""

    def __init__(self, release: str, ids: Sequence[str] = ()) -> None:
        names = _execute(patched(release, ids), CLASSES, _stand_ins())
        self.image_size: Any = _image_size(release)
        self.info = names[CLASSES[1]]()
        self.processor = names[CLASSES[0]](self.info)

    def image_text(self, width: int, height: int, **options: object) -> str:
        """Return the text that takes an image's place in the prompt of a request with these processor options."""
        size = self.image_size(width=width, height=height)
        return self._replacement("image", SimpleNamespace(get_image_size=lambda index: size), options)

    def video_text(self, width: int, height: int, frames: int) -> str:
        """Return the text that takes a video's place in the prompt."""
        size = self.image_size(width=width, height=height)
        videos = SimpleNamespace(get_frame_size=lambda index: size, get_num_frames=lambda index: frames)
        return self._replacement("video", videos, {})

    def embeddings(self, width: int, height: int, **options: object) -> int:
        """Return how many embeddings the encoder gives for what ``process_images`` hands it; needs torch."""
        process = self.processor.process_images
        images = {"images": [SimpleNamespace(width=width, height=height)]}
        rest: tuple[object, ...] = ({},) if "tok_kwargs" in inspect.signature(process).parameters else ()
        (sizes,) = process(images, options, *rest)["tgt_sizes"]
        return int((sizes.prod(-1) // 16).sum())

    def _replacement(self, modality: str, items: object, options: Mapping[str, object]) -> str:
        holder = SimpleNamespace(get_items=lambda name, types: items)
        updates = self.processor._get_prompt_updates(holder, options, {})
        (update,) = (it for it in updates if it.modality == modality)
        text: str = update.replacement(0)
        return text


def _nearest(length: float, unit: int) -> int:
    """The multiple of ``unit`` next to a length, one at least."""
    return max(round(length / unit), 1) * unit


def _patches(size: Grid, grid: Sequence[int]) -> Grid:
    return size[0] // grid[0] // 14, size[1] // grid[1] // 14


def _execute(source: bytes, names: Sequence[str], given: Mapping[str, object]) -> dict[str, Any]:
    """Execute some classes of a file with nothing else around them; annotations are not evaluated."""
    picked: list[ast.stmt] = [it for it in ast.parse(source).body if getattr(it, "name", None) in names]
    flag = __future__.annotations.compiler_flag
    code = compile(ast.Module(body=picked, type_ignores=[]), "<release>", "exec", flags=flag, dont_inherit=True)
    namespace: dict[str, Any] = dict(given)
    exec(code, namespace)
    return namespace


@functools.cache
def _image_size(release: str) -> Any:
    """The release's own ``ImageSize``: which of the two comes first is half of the matter."""
    given = {"NamedTuple": NamedTuple, "__name__": __name__}
    return _execute(read_release(release, PARSE_FILE), ("ImageSize",), given)["ImageSize"]


class _Tokenizer:
    image_token, video_token = IMAGE, VIDEO

    def encode(self, text: str, **options: object) -> list[str]:
        return list(text)

    def decode(self, ids: Sequence[str]) -> str:
        return "".join(ids)

    def get_vocab(self) -> dict[str, str]:
        return {IMAGE: IMAGE, VIDEO: VIDEO}


class _Processor:
    def __init__(self, info: Any) -> None:
        self.info = info


class _Info:
    def __init__(self) -> None:
        image = ImageProcessor()
        whole = SimpleNamespace(image_processor=image, video_processor=SimpleNamespace(max_slice_nums=9))
        config = SimpleNamespace(insert_layer_id=6, slice_config=None, max_slice_nums=9)
        self.ctx = SimpleNamespace(get_hf_processor=lambda **options: whole, get_hf_config=lambda: config)

    def get_hf_processor(self, **options: object) -> Any:
        return self.ctx.get_hf_processor(**options)

    def get_image_processor(self) -> Any:
        return self.get_hf_processor().image_processor

    def get_tokenizer(self) -> _Tokenizer:
        return _Tokenizer()

    def parse_mm_data(self, data: Mapping[str, Any], *, validate: bool) -> Any:
        return SimpleNamespace(get_items=lambda modality, types: data[modality])


def _stand_ins() -> dict[str, object]:
    try:
        torch: Any = __import__("torch")
    except ImportError:
        torch = None
    return {
        "__name__": __name__,
        "torch": torch,
        "np": SimpleNamespace(ndarray=bytes),
        "MiniCPMVMultiModalProcessor": _Processor,
        "MiniCPMVProcessingInfo": _Info,
        "MiniCPMVImageEmbeddingItems": type("MiniCPMVImageEmbeddingItems", (), {}),
        "MiniCPMVVideoEmbeddingItems": type("MiniCPMVVideoEmbeddingItems", (), {}),
        "ImageProcessorItems": list,
        "VideoProcessorItems": list,
        "PromptReplacement": SimpleNamespace,
        "PromptUpdateDetails": SimpleNamespace(
            select_text=lambda text, embed: text, select_token_ids=lambda ids, embed: "".join(ids)
        ),
        "cached_encode": lambda tokenizer, text, **options: tokenizer.encode(text),
    }
