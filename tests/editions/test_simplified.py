"""Simplified Chinese: the glossary's terms, the reading of rows and columns, and no Traditional character left."""

import csv

import pytest
from opencc import OpenCC

from course_utils.simplified import simplified
from tools.check.text import GLOSSARY


def test_every_term_of_the_glossary_is_kept() -> None:
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["zh-Hans"]]
    assert len(rows) > 200
    for row in rows:
        assert simplified(f"在{row['zh-Hant']}中") == f"在{row['zh-Hans']}中"
        assert OpenCC("t2s").convert(row["zh-Hans"]) == row["zh-Hans"], "a Traditional character"


def test_no_term_has_two_forms() -> None:
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        pairs = {(row["zh-Hant"], row["zh-Hans"]) for row in csv.DictReader(file) if row["zh-Hans"]}
    assert len({traditional for traditional, _ in pairs}) == len(pairs)


@pytest.mark.parametrize(
    "traditional, simple",
    [
        ("每個行程一行程式，不是行程式碼的錯。", "每个进程一行代码，不是行代码的错。"),
        ("取第 3 列的列號，列出每一欄。", "取第 3 行的行号，列出每一列。"),
        ("佇列、串列與序列都在命令列裡。", "队列、列表与序列都在命令行里。"),
        ("參考紀錄不是紀錄（log）。", "参考记录不是日志（log）。"),
        ("「核心函式（kernel）」和 Jupyter 核心", "“核函数（kernel）”和 Jupyter 内核"),
        ("有 64 筆資料，每次 8 筆，在筆記本裡", "有 64 条数据，每次 8 条，在笔记本里"),
        ("讀入 CSV 檔與這個檔案", "读入 CSV 文件与这个文件"),
        ("運算那一列出現空隙，課文改列公開數據。", "运算那一行出现空隙，课文改列公开数据。"),
        ("許多工作每秒 8 兆次，放在 GPU 記憶體裡。", "许多工作每秒 8 万亿次，放在显存里。"),
        ("印兩次，用瀏覽器列印，印象", "打印两次，用浏览器打印，印象"),
        ("寫到暫存檔名，換下舊檔案", "写到临时文件名，换下旧文件"),
        ("弱參考不是參考紀錄", "弱引用不是参考记录"),
        ("遞迴神經網路；重新啟動 Jupyter 核心（kernel）", "循环神经网络；重启 Jupyter 内核（kernel）"),
        ("接續訓練，解方程式，看投影片", "续训，解方程，看幻灯片"),
        ("<code>x</code> 的 16 位元浮點數占 2 個位元組", "<code>x</code> 的 16 位浮点数占 2 个字节"),
    ],
)
def test_a_sentence(traditional: str, simple: str) -> None:
    assert simplified(traditional) == simple
