"""The exercises of lesson 06: a ring all-reduce, the shares of a sampler, and two scripts for two processes."""

from __future__ import annotations

from course_utils.exercises import Exercise
from lesson_06 import check_ring, check_scripts, check_shares
from torch_doctor.bilingual import Bilingual

SCRIPT_SECONDS = 90.0  # more than a launch may take, so that it is the launch that stops a script

EXERCISES = (
    Exercise(
        "ring_all_reduce",
        Bilingual("a ring all-reduce", "環狀的全歸約"),
        check_ring.examine,
        (
            Bilingual(
                "Look at one chunk only: it travels once round the ring and grows, then once more, finished.",
                "只看其中一塊：它先走一圈，一路加上去；加好了，再走一圈發給大家。",
            ),
            Bilingual(
                "Before the first exchange, rank r sends chunk r. What arrives from the left, then, is chunk r − 1, and that is the one to send next.",
                "第一次交換，rank r 送第 r 塊。這時從左邊收到的是第 r − 1 塊，下一次要送的就是它。",
            ),
            Bilingual(
                "After size − 1 exchanges, chunk r + 1 is finished on rank r. It starts the second half, in which nothing is added. `%` keeps the numbers in the ring.",
                "交換 size − 1 次之後，rank r 手上加好的是第 r + 1 塊。後半段就從它開始，而且不再相加。用 `%` 讓編號接成一圈。",
            ),
        ),
    ),
    Exercise(
        "sampler_shares",
        Bilingual("who gets which sample", "哪些樣本歸誰"),
        check_shares.examine,
        (
            Bilingual(
                "Write the sample numbers in a row and deal them out like cards.",
                "把樣本編號排成一列，像發牌一樣輪流發。",
            ),
            Bilingual(
                "All hands must hold equally many cards: the row is first filled up from its own beginning.",
                "每個人的牌要一樣多：先用這一列開頭的編號把不夠的補滿，再發。",
            ),
            Bilingual(
                "`list(DistributedSampler(range(7), num_replicas=2, rank=1, shuffle=False))` needs no second process.",
                "`list(DistributedSampler(range(7), num_replicas=2, rank=1, shuffle=False))` 不用第二個行程也能試。",
            ),
        ),
    ),
    Exercise(
        "mend_ddp",
        Bilingual("mend a DDP script", "修好 DDP 程式"),
        check_scripts.examine_mend_ddp,
        (
            Bilingual(
                "One mistake is in how the data are loaded, one at the start of an epoch, one in the forward pass, one behind the epoch.",
                "四個錯：一個在載入資料，一個在每個 epoch 的開頭，一個在前向傳播，一個在 epoch 結束之後。",
            ),
            Bilingual(
                "`sampler` and `ddp` are made. Who uses them?",
                "`sampler` 和 `ddp` 都建立好了，有誰在用？",
            ),
            Bilingual(
                "A collective belongs outside of every `if` that asks for the rank; the `print` inside.",
                "集體通訊要放在判斷 rank 的 `if` 外面，`print` 才放裡面。",
            ),
        ),
        seconds=SCRIPT_SECONDS,
    ),
    Exercise(
        "distribute",
        Bilingual("make a script distributed", "把程式改成分散式"),
        check_scripts.examine_distribute,
        (
            Bilingual(
                "Six places change: process group, device, data, model, the start of an epoch, the printing. And one line at the end.",
                "要改六個地方：行程群組、裝置、資料、模型、每個 epoch 的開頭、印出結果的地方。結尾還要再加一行。",
            ),
            Bilingual(
                "torchrun sets `LOCAL_RANK`, `LOCAL_WORLD_SIZE` and what `init_process_group` needs. With fewer GPUs than local ranks: `gloo` and the CPU.",
                "torchrun 會設定 `LOCAL_RANK`、`LOCAL_WORLD_SIZE`，以及 `init_process_group` 要的東西。GPU 的數目比這台機器上的 rank 少，就用 `gloo` 和 CPU。",
            ),
            Bilingual(
                "A sampler for the loader (instead of shuffling there), `64 // dist.get_world_size()` samples at once, and the model wrapped after it was moved.",
                "載入器改用 sampler（不用它自己洗牌），一次拿 `64 // dist.get_world_size()` 個樣本；模型先搬到裝置，再包裝。",
            ),
        ),
        seconds=SCRIPT_SECONDS,
    ),
)
