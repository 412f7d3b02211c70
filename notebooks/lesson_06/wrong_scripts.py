"""Typical wrong answers to the exercises with scripts: source, and words of the hint in English and Chinese."""

from __future__ import annotations

from functools import partial

from lesson_06.check_scripts import SCRIPTS
from shared.script_exercise import changed

_together, _average, _rank0, _metrics, _accumulate, _distribute = (
    partial(changed, SCRIPTS / f"{name}_solution.py")
    for name in ("together", "average", "rank0", "metrics", "accumulate", "distribute")
)
_BY_HAND = "    for parameter in model.parameters():\n        dist.all_reduce(parameter.grad)  # the sum\n        parameter.grad /= world_size\n"
_WAIT = "dist.barrier()  # all ranks, rank 0 after the download"
_COUNTS = "accuracy = (counts[0] / counts[1]).item()"
_MEAN = "accuracy = right / len(labels)\ndist.all_reduce(accuracy)\naccuracy = accuracy.item()"
_WRAPPED = "DistributedDataParallel(torch.nn.Linear(1, 1).to(device), device_ids=ids)"
_NO_SYNC = "with nullcontext() if last else ddp.no_sync():"

WRONG_SCRIPTS: dict[str, list[tuple[str, str, str]]] = {
    "together": [
        (_together(("dist.all_reduce(mine)", "dist.reduce(mine, 0)")), "Only rank 0 has the sum", "只有 rank 0 拿到總和"),
        (_together(("dist.all_reduce(mine)", "mine = mine * 1")), "still holds its own number", "還是自己的數字"),
        (_together(("dist.all_reduce(mine)", "if rank == 0:\n    dist.all_reduce(mine)")), "rank 0 waits in line 9 (`all_reduce`)", "rank 0 在第 9 行（`all_reduce`）等待"),
        (_together(("dist.all_reduce(mine)", "mine += dist.get_world_size()")), "Rank 0 should print", "rank 0 應該印出"),
        (_together(("dist.init_process_group(", "print(")), "there is no process group yet", "行程群組還沒建立"),
        (_together(("dist.all_reduce(mine)", "dist.all_sum(mine)")), "Rank 0 stopped in line 8: AttributeError", "停在第 8 行"),
        (_together(("dist.all_reduce(mine)", "dist.all_reduce(mine")), "cannot read line 8", "第 8 行"),
    ],
    "average": [
        (_average((_BY_HAND, "    pass\n")), "step with different gradients", "用不同的梯度更新"),
        (_average(("        parameter.grad /= world_size\n", "")), "the sum over the ranks", "各個 rank 的總和"),
        (_average((_BY_HAND, "    dist.all_reduce(model.weight.grad)\n    model.weight.grad /= 2\n")), "Some gradients are the same", "有些梯度在兩個 rank 上相同"),
        (_average((_BY_HAND + "    optimizer.step()\n", "    optimizer.step()\n    for parameter in model.parameters():\n        dist.all_reduce(parameter.data)\n        parameter.data /= 2\n")), "You average the weights", "你平均的是權重"),
        (_average(("/= world_size", "/= len(x)")), "on other gradients than one process", "和單一行程用全部資料"),
        (_average(("range(5)", "range(4)")), "5 optimizer steps, but rank 0 makes 4", "卻做了 4 步"),
    ],
    "rank0": [
        (_rank0(("if rank == 0:\n    download()", "download()")), "Both ranks download", "兩個 rank 都在下載"),
        (_rank0(("rank == 0", "rank == 1")), "there is no rank 1", "就沒有 rank 1 了"),
        (_rank0((_WAIT, "pass")), "the file is not there", "找不到檔案"),
        (_rank0((_WAIT, ""), ("if rank == 0", "dist.barrier()\nif rank == 0")), "the file is not there", "找不到檔案"),
        (_rank0((_WAIT, "    dist.barrier()")), "It stands in an `if` that rank 1 did not enter", "rank 1 沒有進入的 `if`"),
        (_rank0((_WAIT, "    dist.barrier()"), ("data = torch.load(file)", "time.sleep(2)\ndata = torch.load(file)")), "out of step", "沒有同步"),
        (_rank0((_WAIT, "while not file.exists():\n    time.sleep(0.1)\ntime.sleep(0.5)")), "may read half a file", "只讀到半個檔案"),
        (_rank0((_WAIT, "time.sleep(2.5)")), "nothing makes rank 1 wait", "沒有任何一行會讓 rank 1 等到下載完成"),
        (_rank0(("data = torch.load(file)", "data = torch.load(file) if rank == 0 else []")), "Rank 1 does not read", "rank 1 沒有讀檔"),
    ],
    "metrics": [
        (_metrics(("dist.all_reduce(counts)", "pass")), "accuracy of its own share", "自己那一份的準確率"),
        (_metrics((_COUNTS, _MEAN.replace("item()", "item() / world_size"))), "mean of two accuracies", "兩個準確率"),
        (_metrics((_COUNTS, _MEAN)), "sum of two accuracies", "準確率的總和"),
        (_metrics((_COUNTS, "accuracy = (counts[0] / len(labels)).item()")), "the share of one rank", "單一 rank 那一份"),
        (_metrics(("all_reduce(counts)", "reduce(counts, 0)")), "rank 1 does not", "rank 1 卻不對"),
        (_metrics((".4f", ".1f")), "should print 0.7143", "都應該印出 0.7143"),
    ],
    "accumulate": [
        (_accumulate((" / len(pieces)", "")), "is 4 times that of the whole", "是整份資料的 4 倍"),
        (_accumulate((_NO_SYNC, "with nullcontext():")), "averages 4 times per step", "取平均 4 次"),
        (_accumulate((_NO_SYNC, "with ddp.no_sync():")), "outside of `no_sync`", "外面"),
        (_accumulate(("pieces = list(zip(x.chunk(4), y.chunk(4), strict=True))", "pieces = [(x, y)]")), "it sees 1", "現在是 1 份"),
        (_accumulate(("    optimizer.step()", "        optimizer.step()")), "rank 0 makes 12", "卻做了 12 步"),
        (_accumulate(("            loss = ((ddp", "            some_x = some_x + 0\n        loss = ((ddp"), ("            loss.backward()", "        with nullcontext() if last else ddp.no_sync():\n            loss.backward()")), "averages 4 times per step", "取平均 4 次"),
    ],
    "distribute": [
        (_distribute(('    dist.init_process_group("gloo", timeout=limit)\n', ""), ("dist.get_rank(), dist.get_world_size()", "0, 2"), ("DistributedSampler(dataset)", "DistributedSampler(dataset, 2, rank)"), (_WRAPPED, "torch.nn.Linear(1, 1)"), ("    dist.all_reduce(mean)\n", ""), ("dist.destroy_process_group()\n", "")), "do not know of each other", "不知道彼此的存在"),
        (_distribute(('"gloo"', '"nccl"')), "`nccl` needs a GPU", "`nccl` 需要每個行程"),
        (_distribute((', int(os.environ["LOCAL_RANK"])', "")), "`LOCAL_RANK`", "`LOCAL_RANK`"),
        (_distribute(("sampler = DistributedSampler(dataset)", "sampler = None"), ("sampler.set_epoch(epoch)", "pass"), ("sampler=sampler", "shuffle=True")), "There is no `DistributedSampler`", "沒有 `DistributedSampler`"),
        (_distribute((", sampler=sampler", ", shuffle=True")), "knows nothing of the sampler", "不知道有取樣器"),
        (_distribute(("sampler=sampler", "sampler=sampler, shuffle=True")), "exclude each other", "不能和取樣器（sampler）同時使用"),
        (_distribute(("(dataset)\nloader", "(dataset, num_replicas=2, rank=0)\nloader")), "320 samples come up twice", "320 個樣本出現兩次"),
        (_distribute(("    sampler.set_epoch(epoch)\n", "")), "Without `sampler.set_epoch", "沒有 `sampler.set_epoch"),
        (_distribute(("set_epoch(epoch)", "set_epoch(0)")), "`set_epoch` got [0, 0, 0]", "`set_epoch` 收到的是 [0, 0, 0]"),
        (_distribute(("BATCH // world_size", "BATCH")), "now both together take 128", "合起來用 128 個"),
        (_distribute(("BATCH // world_size", "32")), "one alone takes 32 samples", "每一步卻拿 32 個樣本"),
        (_distribute((_WRAPPED, "torch.nn.Linear(1, 1)")), "did not start alike", "一開始就不同"),
        (_distribute(("((model(some_x)", "((model.module(some_x)")), "although the model is wrapped", "明明包裝過了"),
        (_distribute(("lr=0.1", "lr=0.2")), "other weights than one process", "和一個行程用同樣的批次訓練出來的不同"),
        (_distribute(("    if rank == 0:\n    ", "")), "Rank 1 prints as well: `epoch 0", "rank 1 也印了"),
        (_distribute(("if rank == 0:", "if rank == 0 and epoch:")), "it prints 2 in all", "只印了 2 行"),
        (_distribute(("device_ids=ids", "device_ids=[device]")), "`device_ids` is for GPUs", "`device_ids` 只給 GPU 用"),
        (_distribute(("    dist.all_reduce(mean)\n", ""), ("mean.item() / world_size", "mean.item()")), "its own half of the batch", "自己那半個批次"),
        (_distribute(("mean.item() / world_size", "mean.item()")), "the **sum** of the two losses", "兩個損失的**總和**"),
        (_distribute(("mean.item() / world_size", "mean.item() / 64")), "one process alone would print the loss", "只用一個行程會印出損失"),
        (_distribute(("torch.manual_seed(0)\n", "")), "starts with other weights than two", "一開始的權重不同"),
        (_distribute(("dist.destroy_process_group()\n", "")), "except for the end", "只差結尾"),
        (_distribute(("range(3)", "range(2)")), "30 optimizer steps, but rank 0 makes 20", "卻做了 20 步"),
    ],
}  # fmt: skip
