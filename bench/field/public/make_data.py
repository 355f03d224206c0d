"""Makes data sets in place of those that the public programs download.

    python make_data.py FOLDER NAME [NAME ...]
    python make_data.py --list
    python make_data.py --scale 0.05 FOLDER NAME      small, for a try on a CPU

Each set has the file format, the shapes and the size class of the original. The contents are random, and equal in
each run. A set of many pictures or sounds holds some dozens of different files and many hard links to them: a program
opens and decodes as many files as with the original, and the set is made in seconds.
"""

import argparse
import csv
import datetime
import json
import os
import pickle
import struct
import wave
from pathlib import Path

import numpy as np
from PIL import Image

SCALE = 1.0  # a share of the files and rows of each set; below 1 only for a try


def scaled(count, least=1):
    return max(least, int(count * SCALE))


def photo(generator, width, height):
    """A picture with coarse shapes and fine noise: as JPEG it is about as large as a photo of its size."""
    coarse = Image.fromarray(generator.integers(0, 256, (height // 40 + 2, width // 40 + 2, 3), dtype=np.uint8))
    shapes = np.asarray(coarse.resize((width, height), Image.BICUBIC), dtype=np.int16)
    noise = generator.integers(-10, 11, (height, width, 3), dtype=np.int16)
    return Image.fromarray(np.clip(shapes + noise, 0, 255).astype(np.uint8))


def photos(folder, names, distinct, size, seed, mode="RGB", **options):
    """Writes `distinct` pictures under the first names, and links the other names to them."""
    generator = np.random.default_rng(seed)
    names = list(names)
    for index, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if index < distinct:
            picture = photo(generator, *size)
            if mode == "RGBA":
                picture.putalpha(Image.fromarray((np.asarray(picture)[..., 0] > 100).astype(np.uint8) * 255))
            picture.save(path, **options)
        else:
            os.link(folder / names[index % distinct], path)


def imagenet(folder):
    """ImageNet: JPEG files of 500 x 375 in 100 class folders; 12,800 for training, 1,000 for validation."""
    count, held_out = scaled(12800, 64), scaled(1000, 64)
    photos(folder, [f"train/n{i % 100:08d}/{i:06d}.JPEG" for i in range(count)], 256, (500, 375), 1, quality=90)
    photos(folder, [f"val/n{i % 100:08d}/{i:06d}.JPEG" for i in range(held_out)], 64, (500, 375), 2, quality=90)


def imagenet64(folder):
    """ImageNet at 64 x 64, one flat folder of PNG files whose names begin with the class: 20,000."""
    photos(folder, [f"{i % 100:03d}_{i:06d}.png" for i in range(scaled(20000, 300))], 512, (64, 64), 3)


def coco(folder):
    """COCO for YOLO: JPEG files of 640 x 480, seven boxes of 80 classes each; 4,096 for training, 256 held out."""
    generator = np.random.default_rng(4)
    for part, count in (("train2017", scaled(4096, 32)), ("val2017", scaled(256, 16))):
        names = [f"images/{part}/{i:012d}.jpg" for i in range(count)]
        photos(folder, names, 128, (640, 480), 5, quality=90)
        (folder / f"labels/{part}").mkdir(parents=True, exist_ok=True)
        for name in names:
            centre, extent = generator.uniform(0.25, 0.75, (7, 2)), generator.uniform(0.05, 0.4, (7, 2))
            rows = zip(generator.integers(0, 80, 7), np.hstack([centre, extent]), strict=True)
            text = "".join(f"{kind} {' '.join(f'{v:.6f}' for v in box)}\n" for kind, box in rows)
            (folder / name.replace("images", "labels")).with_suffix(".txt").write_text(text)
        (folder / f"{part}.txt").write_text("".join(f"./{name}\n" for name in names))


def coco_folder(folder):
    """COCO's training pictures in one folder inside another: 8,000 JPEG files of 640 x 480."""
    photos(folder, [f"train2014/{i:012d}.jpg" for i in range(scaled(8000, 16))], 128, (640, 480), 6, quality=90)


def bsds300(folder):
    """BSDS300: 200 and 100 JPEG files of 481 x 321."""
    photos(folder, [f"images/train/{i}.jpg" for i in range(200)], 100, (481, 321), 7, quality=90)
    photos(folder, [f"images/test/{i}.jpg" for i in range(100)], 100, (481, 321), 8, quality=90)


def monet2photo(folder):
    """monet2photo: JPEG files of 256 x 256; 1,072 paintings and 6,287 photos for training, 121 and 751 held out."""
    for part, count in (("train/A", 1072), ("train/B", 6287), ("test/A", 121), ("test/B", 751)):
        photos(folder, [f"{part}/{i:05d}.jpg" for i in range(scaled(count, 8))], 64, (256, 256), 9, quality=90)


def carvana(folder):
    """Carvana: JPEG files of 1918 x 1280 and a mask in a GIF file each; 640 pairs of the original's 5,088."""
    count, distinct = scaled(640, 12), 16
    photos(folder, [f"imgs/{i:05d}.jpg" for i in range(count)], distinct, (1918, 1280), 10, quality=90)
    (folder / "masks").mkdir(exist_ok=True)
    across, down = np.meshgrid(np.arange(1918), np.arange(1280))
    for i in range(count):
        path = folder / f"masks/{i:05d}_mask.gif"
        if i < distinct:
            car = ((across - 900 - 10 * i) / 600) ** 2 + ((down - 640) / 350) ** 2 < 1
            Image.fromarray(car.astype(np.uint8)).save(path)
        else:
            os.link(folder / f"masks/{i % distinct:05d}_mask.gif", path)


def cifar10(folder):
    """CIFAR-10: five pickled batches of 10,000 pictures of 32 x 32 and a test batch, as torchvision reads them."""
    generator = np.random.default_rng(11)
    root = folder / "cifar-10-batches-py"
    root.mkdir(parents=True, exist_ok=True)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        rows = {
            "data": generator.integers(0, 256, (10000, 3072), dtype=np.uint8),
            "labels": generator.integers(0, 10, 10000).tolist(),
        }
        (root / name).write_bytes(pickle.dumps(rows))
    (root / "batches.meta").write_bytes(pickle.dumps({"label_names": [f"class {i}" for i in range(10)]}))


def mnist(folder):
    """MNIST: the four files in IDX format, 60,000 and 10,000 pictures of 28 x 28."""
    generator = np.random.default_rng(12)
    root = folder / "MNIST/raw"
    root.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 60000), ("t10k", 10000)):
        pictures = generator.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        kinds = generator.integers(0, 10, count, dtype=np.uint8)
        (root / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + pictures.tobytes())
        (root / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + kinds.tobytes())


def omniglot(folder):
    """Omniglot as the program keeps it after its first run: 1,623 characters, 20 pictures of 28 x 28 each."""
    generator = np.random.default_rng(13)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "omniglot.npy", generator.random((1623, 20, 1, 28, 28)))


def words(generator, count):
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = np.arange(26, 0, -1) / 351
    lengths = generator.integers(1, 9, count)
    text = "".join(generator.choice(list(letters), lengths.sum(), p=weights))
    ends = np.cumsum(lengths)
    return [text[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def shakespeare(folder):
    """Tiny Shakespeare: 1.1 million characters, 65 different ones."""
    generator = np.random.default_rng(14)
    lines = [" ".join(words(generator, 8)).capitalize() + generator.choice(list(",.;:!?-'&$3")) for _ in range(26000)]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz !$&',-.3:;?"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "input.txt").write_text((alphabet + "\nO God, O God!\n" + "\n".join(lines))[:1115394])


def e2e(folder):
    """The E2E data set as the program's own script encodes it: 42,061 and 4,672 pairs of lists of GPT-2 tokens."""
    generator = np.random.default_rng(15)
    root = folder / "e2e"
    root.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", scaled(42061, 64)), ("valid", scaled(4672, 16))):
        with (root / f"{part}.jsonl").open("w") as file:
            for _ in range(count):
                context = [*generator.integers(0, 50256, generator.integers(15, 45)).tolist(), 50256]
                completion = [*generator.integers(0, 50256, generator.integers(12, 45)).tolist(), 50256]
                file.write(json.dumps({"context": context, "completion": completion}) + "\n")


def sts(folder):
    """The STS benchmark, 5,749, 1,500 and 1,379 pairs of sentences, and DistilBERT with random weights."""
    import tokenizers
    import transformers

    generator = np.random.default_rng(26)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = sorted(set(words(generator, 80000)))
    vocabulary = (marks + list("abcdefghijklmnopqrstuvwxyz.") + [word for word in known if len(word) > 1])[:30522]
    spoken = np.array(vocabulary[32:])
    (folder / "stsb").mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 5749), ("validation", 1500), ("test", 1379)):
        with (folder / f"stsb/{part}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["sentence1", "sentence2", "score"])
            for _ in range(scaled(count, 40)):
                first, second = (" ".join(generator.choice(spoken, generator.integers(5, 22))) for _ in range(2))
                rows.writerow([first, second, f"{generator.random():.2f}"])
    reader = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]")
    )
    reader.normalizer = tokenizers.normalizers.BertNormalizer()
    reader.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    reader.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", ends)
    names = dict(zip(["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], marks, strict=True))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=reader, model_max_length=512, **names)
    fast.model_input_names = ["input_ids", "attention_mask"]
    fast.save_pretrained(folder / "distilbert")
    transformers.set_seed(26)
    sizes = {} if SCALE == 1 else {"dim": 128, "hidden_dim": 256, "n_layers": 2, "n_heads": 4}
    transformers.DistilBertModel(transformers.DistilBertConfig(**sizes)).save_pretrained(folder / "distilbert")


def cora(folder):
    """Cora: 2,708 papers with 1,433 words each in 7 classes, 5,429 citations."""
    generator = np.random.default_rng(16)
    folder.mkdir(parents=True, exist_ok=True)
    papers = generator.choice(1155074, 2708, replace=False)
    features = (generator.random((2708, 1433)) < 18 / 1433).astype(int)
    features[:, 0] = 1
    with (folder / "cora.content").open("w") as file:
        for paper, row in zip(papers, features, strict=True):
            file.write("\t".join([str(paper), *map(str, row), f"Class_{paper % 7}"]) + "\n")
    first, second = generator.integers(0, 2708, (2, 5429))
    pairs = [f"{papers[a]}\t{papers[b]}\n" for a, b in zip(first, second, strict=True)]
    (folder / "cora.cites").write_text("".join(pairs))


def criteo(folder):
    """Criteo Kaggle as the program keeps it after its first run: 1.4 of 45.8 million rows, all categories."""
    generator = np.random.default_rng(17)
    folder.mkdir(parents=True, exist_ok=True)
    counts = np.array([1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
                       5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572])  # fmt: skip
    if SCALE < 1:
        counts = np.minimum(counts, 10000)
    rows = scaled(1400000, 14000)
    np.savez(
        folder / "kaggleAdDisplayChallenge_processed.npz",
        X_int=generator.integers(0, 1000, (rows, 13), dtype=np.int32),
        X_cat=(generator.random((rows, 26)) * counts).astype(np.int32),
        y=(generator.random(rows) < 0.26).astype(np.int32),
        counts=counts,
    )
    np.savez(folder / "train_day_count.npz", total_per_file=np.full(7, rows // 7))


def movielens(folder):
    """MovieLens 1M in the form of the NCF paper: 6,040 users, 3,706 films, 200,000 of its 994,169 ratings."""
    generator = np.random.default_rng(18)
    folder.mkdir(parents=True, exist_ok=True)
    rows = scaled(200000, 10000)
    users, films = generator.integers(0, 6040, rows), generator.integers(0, 3706, rows)
    users[0], films[0] = 6039, 3705
    lines = [f"{user}\t{film}\t4\t978300000\n" for user, film in zip(users, films, strict=True)]
    (folder / "ml-1m.train.rating").write_text("".join(lines))
    with (folder / "ml-1m.test.negative").open("w") as file:
        for user in range(scaled(6040, 100)):
            file.write("\t".join([f"({user},{user % 3706})", *map(str, generator.integers(0, 3706, 99))]) + "\n")


def ett(folder):
    """ETTh1: 17,420 hours, seven columns."""
    generator = np.random.default_rng(19)
    root = folder / "ETT"
    root.mkdir(parents=True, exist_ok=True)
    values = np.cumsum(generator.normal(0, 0.5, (17420, 7)), axis=0)
    start = datetime.datetime(2016, 7, 1)
    with (root / "ETTh1.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["date", "HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"])
        for hour, row in enumerate(values):
            rows.writerow([start + datetime.timedelta(hours=hour), *(f"{value:.6f}" for value in row)])


def sound(path, seconds, rate, generator):
    time = np.arange(int(seconds * rate)) / rate
    tones = sum(np.sin(2 * np.pi * generator.uniform(80, 2000) * time + generator.uniform(0, 6)) for _ in range(6))
    samples = (tones / 6 * np.abs(np.sin(3 * time)) * 20000 + generator.normal(0, 300, len(time))).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.tobytes())


def ljspeech(folder):
    """LJ Speech: WAV files of 22,050 Hz and 2 to 10 seconds; 3,200 for training, 20 for validation, and their lists."""
    generator = np.random.default_rng(20)
    (folder / "wavs").mkdir(parents=True, exist_ok=True)
    names = [f"LJ{i // 100:03d}-{i % 100:04d}" for i in range(scaled(3200, 32) + 20)]
    for index, name in enumerate(names):
        path = folder / f"wavs/{name}.wav"
        if index < 64:
            sound(path, generator.uniform(2, 10), 22050, generator)
        else:
            os.link(folder / f"wavs/{names[index % 64]}.wav", path)
    (folder / "validation.txt").write_text("".join(f"{name}|a|a\n" for name in names[:20]))
    (folder / "training.txt").write_text("".join(f"{name}|a|a\n" for name in names[20:]))


def whisper_turbo(folder):
    """Ten minutes of sound as the decoder gives it (16 kHz, 16 bits), and a checkpoint that names turbo's sizes."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    sizes = dict(n_mels=128, n_audio_ctx=1500, n_audio_state=1280, n_audio_head=20, n_audio_layer=32,
                 n_vocab=51866, n_text_ctx=448, n_text_state=1280, n_text_head=20, n_text_layer=4)  # fmt: skip
    if SCALE < 1:
        sizes.update(n_audio_state=384, n_audio_head=6, n_audio_layer=4, n_text_state=384, n_text_head=6)
    torch.save({"dims": sizes, "model_state_dict": {}}, folder / "turbo.pt")
    generator = np.random.default_rng(21)
    sound(folder / "audio.wav", scaled(600, 35), 16000, generator)
    (folder / "audio.raw").write_bytes((folder / "audio.wav").read_bytes()[44:])


def llama(folder):
    """Llama 2 7B in gpt-fast's form: random weights in bfloat16 (13 GB), and a tokenizer of 32,000 pieces."""
    import torch
    from sentencepiece import sentencepiece_model_pb2

    layers, dim, inner, vocabulary = (32, 4096, 11008, 32000) if SCALE == 1 else (6, 288, 768, 32000)
    name = "Llama-2-7b-chat-hf" if SCALE == 1 else "stories15M"
    root = folder / "meta-llama" / name
    root.mkdir(parents=True, exist_ok=True)
    random = (torch.randn(1 << 22, generator=torch.Generator().manual_seed(22)) * 0.02).to(torch.bfloat16)

    def weight(*shape):
        count = int(np.prod(shape))
        return random.repeat(-(-count // len(random)))[:count].view(shape)

    state = {
        "tok_embeddings.weight": weight(vocabulary, dim),
        "output.weight": weight(vocabulary, dim),
        "norm.weight": torch.ones(dim, dtype=torch.bfloat16),
    }
    for layer in range(layers):
        state |= {
            f"layers.{layer}.attention.wqkv.weight": weight(3 * dim, dim),
            f"layers.{layer}.attention.wo.weight": weight(dim, dim),
            f"layers.{layer}.feed_forward.w1.weight": weight(inner, dim),
            f"layers.{layer}.feed_forward.w3.weight": weight(inner, dim),
            f"layers.{layer}.feed_forward.w2.weight": weight(dim, inner),
            f"layers.{layer}.ffn_norm.weight": torch.ones(dim, dtype=torch.bfloat16),
            f"layers.{layer}.attention_norm.weight": torch.ones(dim, dtype=torch.bfloat16),
        }
    torch.save(state, root / "model.pth")
    model = sentencepiece_model_pb2.ModelProto()
    for index in range(vocabulary):
        kind = {0: 2, 1: 3, 2: 3}.get(index, 6 if index < 259 else 1)
        text = ["<unk>", "<s>", "</s>"][index] if index < 3 else f"<0x{index - 3:02X}>" if index < 259 else f"▁w{index}"
        model.pieces.add(piece=text, score=-float(index), type=kind)
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = True
    model.trainer_spec.vocab_size = vocabulary
    model.normalizer_spec.name = "identity"
    (root / "tokenizer.model").write_bytes(model.SerializeToString())


def lego(folder):
    """NeRF's synthetic scene: RGBA PNG files of 800 x 800 with camera poses; 100, 100 and 200 views."""
    generator = np.random.default_rng(23)
    for part, count in (("train", 100), ("val", 100), ("test", 200)):
        photos(folder, [f"{part}/r_{i}.png" for i in range(count)], 4, (800, 800), 24, mode="RGBA", compress_level=1)
        frames = []
        for i in range(count):
            turn, tilt = 2 * np.pi * i / count, generator.uniform(-1.2, -0.2)
            rotation = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
            rotation = rotation @ np.array(
                [[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]]
            )
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = rotation, 4 * rotation[:, 2]
            frames.append({"file_path": f"./{part}/r_{i}", "rotation": 0.01, "transform_matrix": pose.tolist()})
        (folder / f"transforms_{part}.json").write_text(json.dumps({"camera_angle_x": 0.6911112, "frames": frames}))


def modelnet40(folder):
    """ModelNet40, resampled: text files of 10,000 points with normals; 9,840 and 400 of 40 kinds."""
    generator = np.random.default_rng(25)
    kinds = [f"kind{'abcdefghij'[i % 10]}{'klmn'[i // 10]}" for i in range(40)]
    names = {"train": [f"{kinds[i % 40]}_{i // 40 + 1:04d}" for i in range(scaled(9840, 240))]}
    names["test"] = [f"{kinds[i % 40]}_{i // 40 + 5001:04d}" for i in range(scaled(400, 48))]
    for kind in kinds:
        (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / "modelnet40_shape_names.txt").write_text("\n".join(kinds) + "\n")
    files = [folder / name.rsplit("_", 1)[0] / f"{name}.txt" for part in names.values() for name in part]
    for index, path in enumerate(files):
        if index < 24:
            points = generator.normal(size=(10000, 6))
            points /= np.linalg.norm(points[:, :3], axis=1, keepdims=True)
            np.savetxt(path, points, fmt="%.6f", delimiter=",")
        else:
            os.link(files[index % 24], path)
    for part, list_of_names in names.items():
        (folder / f"modelnet40_{part}.txt").write_text("\n".join(list_of_names) + "\n")


def voc2012(folder):
    """Pascal VOC 2012 with the added masks: JPEG files of 500 x 375 and a mask each; 10,582 and 1,449."""
    generator = np.random.default_rng(30)
    root = folder / "VOCdevkit/VOC2012"
    parts = {"train": [f"2008_{i:06d}" for i in range(scaled(10582, 64))]}
    parts["val"] = [f"2009_{i:06d}" for i in range(scaled(1449, 16))]
    names = parts["train"] + parts["val"]
    photos(root, [f"JPEGImages/{name}.jpg" for name in names], 128, (500, 375), 31, quality=90)
    for place, listed in (("SegmentationClassAug", parts["train"]), ("SegmentationClass", names)):
        (root / place).mkdir(exist_ok=True)
        for index, name in enumerate(listed):
            path = root / f"{place}/{name}.png"
            if index < 32:
                mask = Image.fromarray(generator.choice([0, 0, 0, 255, *range(1, 21)], (5, 7)).astype(np.uint8))
                mask.resize((500, 375), Image.NEAREST).save(path)
            else:
                os.link(root / f"{place}/{listed[index % 32]}.png", path)
    (root / "ImageSets/Segmentation").mkdir(parents=True, exist_ok=True)
    for part, listed in parts.items():
        (root / f"ImageSets/Segmentation/{part}.txt").write_text("\n".join(listed) + "\n")
    (folder / "train_aug.txt").write_text("\n".join(parts["train"]) + "\n")


def coco_instances(folder):
    """COCO with its annotations: JPEG files of 640 x 480, seven objects each; 4,096 for training, 256 held out."""
    generator = np.random.default_rng(32)
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    kinds = [i for i in range(1, 91) if i not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]
    for part, count in (("train2017", scaled(4096, 32)), ("val2017", scaled(256, 8))):
        names = [f"{i:012d}.jpg" for i in range(count)]
        photos(folder, [f"{part}/{name}" for name in names], 128, (640, 480), 33, quality=90)
        objects = []
        for image in range(count):
            for _ in range(7):
                x, y = generator.uniform(0, 400), generator.uniform(0, 300)
                w, h = generator.uniform(20, 230), generator.uniform(20, 170)
                outline = [x, y, x + w, y, x + w, y + h, x, y + h]
                told = {"id": len(objects) + 1, "image_id": image, "category_id": int(generator.choice(kinds))}
                objects.append(told | {"bbox": [x, y, w, h], "area": w * h, "iscrowd": 0, "segmentation": [outline]})
        images = [{"id": i, "file_name": name, "width": 640, "height": 480} for i, name in enumerate(names)]
        told = {"images": images, "annotations": objects, "categories": [{"id": k, "name": f"kind {k}"} for k in kinds]}
        (folder / f"annotations/instances_{part}.json").write_text(json.dumps(told))


def coco_captions(folder):
    """COCO for captions as the program's own script writes it: 2,000 pictures of 256 x 256 with five captions each."""
    import h5py

    generator = np.random.default_rng(34)
    folder.mkdir(parents=True, exist_ok=True)
    base = "coco_5_cap_per_img_5_min_word_freq"
    numbers = {f"w{i}": i for i in range(1, 9487)}
    numbers |= {"<unk>": 9487, "<start>": 9488, "<end>": 9489, "<pad>": 0}
    (folder / f"WORDMAP_{base}.json").write_text(json.dumps(numbers))
    for part, count in (("TRAIN", scaled(2000, 40)), ("VAL", scaled(200, 8))):
        with h5py.File(folder / f"{part}_IMAGES_{base}.hdf5", "w") as file:
            file.attrs["captions_per_image"] = 5
            pictures = file.create_dataset("images", (count, 3, 256, 256), dtype="uint8")
            for i in range(count):
                pictures[i] = generator.integers(0, 256, (3, 256, 256), dtype=np.uint8)
        lengths = np.clip(generator.poisson(10.5, 5 * count), 7, 50)
        captions = [[9488, *generator.integers(1, 9487, n).tolist(), 9489] + [0] * (50 - int(n)) for n in lengths]
        (folder / f"{part}_CAPTIONS_{base}.json").write_text(json.dumps(captions))
        (folder / f"{part}_CAPLENS_{base}.json").write_text(json.dumps([int(n) + 2 for n in lengths]))


def celeba(folder):
    """CelebA, aligned: 24,000 JPEG files of 178 x 218 of the original's 202,599, and the list of 40 attributes."""
    generator = np.random.default_rng(35)
    count = max(2064, scaled(24000))  # the program holds out the first 2,000
    names = [f"{i + 1:06d}.jpg" for i in range(count)]
    photos(folder / "images", names, 256, (178, 218), 36, quality=90)
    known = ["Black_Hair", "Blond_Hair", "Brown_Hair", "Male", "Young"] + [f"Attribute_{i}" for i in range(35)]
    signs = generator.choice([" 1", "-1"], (count, 40))
    rows = [f"{name}  {' '.join(row)}" for name, row in zip(names, signs, strict=True)]
    (folder / "list_attr_celeba.txt").write_text("\n".join([str(count), " ".join(known), *rows]) + "\n")


def flying_chairs(folder):
    """FlyingChairs: PPM pairs of 512 x 384 with a FLO file each; 4,000 of the original's 22,872."""
    generator = np.random.default_rng(37)
    count, distinct = scaled(4000, 40), 24
    pairs = [f"data/{i:05d}" for i in range(1, count + 1)]
    photos(folder, [f"{pair}_img{k}.ppm" for pair in pairs for k in (1, 2)], 2 * distinct, (512, 384), 38)
    for index, pair in enumerate(pairs):
        path = folder / f"{pair}_flow.flo"
        if index < distinct:
            coarse = Image.fromarray(generator.normal(0, 8, (6, 8)).astype(np.float32))
            flow = np.asarray(coarse.resize((512, 384), Image.BICUBIC))
            head = struct.pack("<f2i", 202021.25, 512, 384)
            path.write_bytes(head + np.stack([flow, flow[::-1]], -1).astype("<f4").tobytes())
        else:
            os.link(folder / f"{pairs[index % distinct]}_flow.flo", path)


def cifar10_zip(folder):
    """CIFAR-10 as the program's own tool packs it: a ZIP file with 50,000 PNG files of 32 x 32 and their labels."""
    import io
    import zipfile

    generator = np.random.default_rng(39)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for _ in range(512):
        file = io.BytesIO()
        photo(generator, 32, 32).save(file, format="png", compress_level=0)
        files.append(file.getvalue())
    names = [f"{i // 1000:05d}/img{i:08d}.png" for i in range(scaled(50000, 256))]
    with zipfile.ZipFile(folder / "cifar10-32x32.zip", "w", zipfile.ZIP_STORED) as archive:
        for index, name in enumerate(names):
            archive.writestr(name, files[index % 512])
        labels = [[name, int(kind)] for name, kind in zip(names, generator.integers(0, 10, len(names)), strict=True)]
        archive.writestr("dataset.json", json.dumps({"labels": labels}))


def enwik8(folder):
    """enwik8 as the usual script prepares it: a number for each byte; 6 million of the original's 90 for training."""
    generator = np.random.default_rng(40)
    folder.mkdir(parents=True, exist_ok=True)
    weights = 1 / np.arange(1, 205) ** 1.1
    known = [byte for byte in range(32, 236) if byte != 10]
    for part, count in (("train", scaled(6000000, 100000)), ("valid", scaled(400000, 20000)), ("test", 20000)):
        bytes_ = generator.choice(known, count, p=weights / weights.sum())
        line_ends = generator.random(count) < 0.01
        texts = ["\n" if end else str(byte) for byte, end in zip(bytes_.tolist(), line_ends.tolist(), strict=True)]
        (folder / f"{part}.txt").write_text(" ".join(texts))


def sentences(folder):
    """A corpus for BERT-pytorch: 300,000 lines of two sentences, 30,000 words, and the program's own vocabulary."""
    import collections
    import sys
    import types

    generator = np.random.default_rng(41)
    folder.mkdir(parents=True, exist_ok=True)
    spoken = np.array(sorted(set(words(generator, 90000)))[:30000])
    weights = 1 / np.arange(1, len(spoken) + 1)
    count = scaled(300000, 2000)
    lengths = generator.integers(6, 15, (count, 2))
    drawn = generator.choice(spoken, int(lengths.sum()), p=weights / weights.sum()).tolist()
    at = 0
    with (folder / "corpus.small").open("w") as file:
        for first, second in lengths.tolist():
            ends = at + first, at + first + second
            file.write(" ".join(drawn[at : ends[0]]) + "\t" + " ".join(drawn[ends[0] : ends[1]]) + "\n")
            at = ends[1]
    marks = ["<pad>", "<unk>", "<eos>", "<sos>", "<mask>"]
    freqs = collections.Counter(drawn)
    itos = marks + sorted(freqs, key=lambda word: (-freqs[word], word))
    module = types.ModuleType("bert_pytorch.dataset.vocab")  # pickle takes the name of the class from here
    module.WordVocab = type("WordVocab", (), {"__module__": module.__name__})
    names = ["bert_pytorch", "bert_pytorch.dataset"]
    sys.modules |= {name: types.ModuleType(name) for name in names} | {module.__name__: module}
    vocabulary = module.WordVocab()
    vocabulary.__dict__.update(
        freqs=freqs, itos=itos, stoi={word: i for i, word in enumerate(itos)}, vectors=None,
        pad_index=0, unk_index=1, eos_index=2, sos_index=3, mask_index=4,
    )  # fmt: skip
    with (folder / "vocab.small").open("wb") as file:
        pickle.dump(vocabulary, file)
    for name in [*names, module.__name__]:
        del sys.modules[name]


def mutag(folder):
    """MUTAG: 188 small graphs of two classes, about 18 nodes each of seven kinds, about 20 edges."""
    generator = np.random.default_rng(42)
    (folder / "MUTAG").mkdir(parents=True, exist_ok=True)
    lines = ["188"]
    for graph in range(188):
        count = int(generator.integers(10, 29))
        near = [set() for _ in range(count)]
        chain = [(i, i + 1) for i in range(count - 1)]
        for one, other in [*chain, *generator.integers(0, count, (3, 2)).tolist()]:
            if one != other:
                near[one].add(other)
                near[other].add(one)
        lines.append(f"{count} {graph % 2}")
        for node in range(count):
            kind = (
                node if graph == 0 and node < 7 else int(generator.choice(7, p=[0.7, 0.1, 0.1, 0.04, 0.03, 0.02, 0.01]))
            )
            lines.append(" ".join(map(str, [kind, len(near[node]), *sorted(near[node])])))
    (folder / "MUTAG/MUTAG.txt").write_text("\n".join(lines) + "\n")


def fb15k(folder):
    """FB15k: 14,951 entities, 1,345 relations, 483,142 facts; 640 and 640 held out of 50,000 and 59,071."""
    generator = np.random.default_rng(43)
    folder.mkdir(parents=True, exist_ok=True)
    entities = [f"/m/{i:06x}" for i in range(scaled(14951, 500))]
    relations = [f"/kind/of/relation/{i}" for i in range(scaled(1345, 50))]
    for name, listed in (("entities", entities), ("relations", relations)):
        (folder / f"{name}.dict").write_text("".join(f"{i}\t{one}\n" for i, one in enumerate(listed)))
    for part, count in (("train", scaled(483142, 5000)), ("valid", scaled(640, 16)), ("test", scaled(640, 16))):
        heads, tails = (
            generator.integers(0, len(entities), (2, count)) // generator.integers(1, 9, (2, count))
        ).tolist()
        kinds = generator.integers(0, len(relations), count).tolist()
        rows = zip(heads, kinds, tails, strict=True)
        (folder / f"{part}.txt").write_text(
            "".join(f"{entities[h]}\t{relations[r]}\t{entities[t]}\n" for h, r, t in rows)
        )


def movielens_order(folder):
    """MovieLens 1M as SASRec takes it: a user and a film a line, in order of time; 6,040 users, 3,416 films."""
    generator = np.random.default_rng(44)
    folder.mkdir(parents=True, exist_ok=True)
    users = scaled(6040, 300)
    lengths = np.clip(generator.lognormal(4.55, 1.05, users), 18, 2300).astype(int)
    with (folder / "ml-1m.txt").open("w") as file:
        for user, length in enumerate(lengths.tolist(), 1):
            films = generator.choice(np.arange(1, 3417), length, replace=False).tolist()
            if user == 1:
                films[0] = 3416
            file.write("".join(f"{user} {film}\n" for film in films))


def ljspeech_features(folder):
    """LJ Speech as FastSpeech 2 prepares it: spectra, pitch, energy and lengths of phones; 12,588 and 512 texts."""
    generator = np.random.default_rng(45)
    vowels = [f"{one}{k}" for one in ("AA", "AE", "AH", "AO", "EH", "ER", "IH", "IY", "OW", "UW") for k in (0, 1, 2)]
    phones = [*vowels, *"B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH".split()]
    for kind in ("mel", "pitch", "energy", "duration"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    texts, names = [], [f"LJ{i // 200:03d}-{i % 200:04d}" for i in range(scaled(12588, 160) + scaled(512, 16))]
    for index, name in enumerate(names):
        paths = {kind: folder / f"{kind}/LJSpeech-{kind}-{name}.npy" for kind in ("mel", "pitch", "energy", "duration")}
        if index >= 128:
            for kind, path in paths.items():
                os.link(folder / f"{kind}/LJSpeech-{kind}-{names[index % 128]}.npy", path)
            texts.append(texts[index % 128])
            continue
        count = int(generator.integers(20, 130))
        lengths = np.clip(generator.poisson(7, count), 1, None)
        texts.append("{" + " ".join(generator.choice(phones, count)) + "}")
        np.save(paths["mel"], generator.normal(-5, 2, (lengths.sum(), 80)).astype(np.float32))
        np.save(paths["pitch"], generator.normal(0, 1, count).clip(-2, 10))
        np.save(paths["energy"], generator.normal(0, 1, count).clip(-1.3, 7).astype(np.float32))
        np.save(paths["duration"], lengths)
    rows = [f"{name}|LJSpeech|{text}|a text\n" for name, text in zip(names, texts, strict=True)]
    held_out = scaled(512, 16)
    (folder / "val.txt").write_text("".join(rows[:held_out]))
    (folder / "train.txt").write_text("".join(rows[held_out:]))
    (folder / "speakers.json").write_text('{"LJSpeech": 0}')
    (folder / "stats.json").write_text(
        json.dumps({"pitch": [-2.0, 11.0, 200.0, 50.0], "energy": [-1.4, 8.0, 40.0, 30.0]})
    )


SETS = {
    made.__name__: made
    for made in (imagenet, imagenet64, coco, coco_folder, bsds300, monet2photo, carvana, cifar10, mnist, omniglot,
                 shakespeare, e2e, sts, cora, criteo, movielens, ett, ljspeech, whisper_turbo, llama, lego, modelnet40,
                 voc2012, coco_instances, coco_captions, celeba, flying_chairs, cifar10_zip, enwik8, sentences, mutag,
                 fb15k, movielens_order, ljspeech_features)
}  # fmt: skip


def make(name, folder):
    """Makes a set in folder/name, unless it is there, and returns its folder."""
    target = Path(folder) / name
    done = target / ".made"
    if not done.exists():
        SETS[name](target)
        done.write_text("")
    return target


def main():
    global SCALE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    SCALE = options.scale
    if options.list or not options.folder:
        for name, made in SETS.items():
            print(f"{name}: {made.__doc__}")
        return
    for name in options.names:
        print(make(name, options.folder))


if __name__ == "__main__":
    main()
