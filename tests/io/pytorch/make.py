# SPDX-License-Identifier: MIT
# Writes the files of this folder with PyTorch (Debian's python3-torch 1.13): the format before 1.6, and state
# dictionaries within others.
import os
from collections import OrderedDict

import torch

here = os.path.dirname(os.path.abspath(__file__))
a = torch.arange(12, dtype=torch.float32).reshape(3, 4) / 8
state = OrderedDict(
    a=a, t=a.t(), row=a[1:], half=torch.tensor([1.5, -2], dtype=torch.float16), n=torch.tensor(7),
    d=torch.tensor([[0.1, 1 / 3]], dtype=torch.float64), p=torch.nn.Parameter(torch.ones(2)))
training = {
    "state_dict": state, "epoch": 3, "lr": 0.1, "args": {"x": [1, None, True]},
    "optimizer": {"state": {0: {"step": 1, "m": torch.zeros(5)}}, "param_groups": [{"lr": 1e-3}]}}


def save(value, name, **options):
    torch.save(value, os.path.join(here, name), **options)


save(state, "old.bin", _use_new_zipfile_serialization=False)
save(state, "proto4.bin", _use_new_zipfile_serialization=False, pickle_protocol=4)
save(training, "old-level.bin", _use_new_zipfile_serialization=False)
save({"model": {"module": state}}, "levels.bin")
