"""timm's CSV: everything but the speed stands in the file's name."""

from __future__ import annotations

CSV = """model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
resnet50,1210.5,423.0,512,224,25.56
vit_base_patch16_224.augreg_in1k,305.2,839.0,256,224,86.57
resnet50.a1_in1k,800.0,640.0,512,288,25.56
inception_v3,780.0,490.0,384,299,23.83
broken,12
"""
NAME = "benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv"


def test_name_of_the_file_tells_gpu_precision_and_versions(read):
    found = read(CSV, NAME)
    row = found.rows[0]
    assert found.format == "timm"
    assert (row.gpu_id, row.precision, row.stated.precision, row.question.compile) == (
        "rtx-3090",
        "fp16",
        "amp",
        False,
    )
    assert row.stated.versions == "torch 1.12 cu113 nhwc"
    assert (row.question.mode, row.batch, row.value, row.item) == ("train", 512, 1210.5, "image")


def test_another_image_size_is_another_workload(read):
    assert [row.question.workload for row in read(CSV, NAME).rows] == [
        "resnet50",
        "vit-b16",
        "resnet50-288-px",
        "inception-v3",
    ]


def test_short_line_is_named(read):
    assert [(line, why.detail) for line, why in read(CSV, NAME).skipped] == [
        (6, "has not as many cells as the header")
    ]


def test_compiled_inference_in_bfloat16(read):
    text = "model,infer_samples_per_sec,infer_batch_size,infer_img_size\nresnet50,9000.5,1024,224\n"
    row = read(text, "benchmark-infer-amp_bf16-nchw-pt291-cu130-pro6000maxq-dynamo.csv").rows[0]
    assert (row.question.mode, row.precision, row.question.compile) == ("infer", "bf16", True)
    assert row.stated.versions == "torch 2.9.1 cu130 nchw"
    assert row.gpu_id == "rtx-pro-6000-blackwell-maxq"


def test_any_other_name_leaves_everything_open(read):
    row = read(CSV, "my-results.csv", gpu="RTX 4090").rows[0]
    assert (row.gpu_id, row.precision, row.question.compile, row.stated.versions) == (
        "rtx-4090",
        "?",
        None,
        "",
    )


def test_speed_of_nothing_is_skipped(read):
    found = read("model,train_samples_per_sec\nresnet50,0\n", NAME)
    assert (found.rows, found.skipped[0][1].detail) == ((), "no speed: '0'")
