"""The recurrent layers by name: each is a model for `minisig train`."""

from minisig.layers.gru import GRU
from minisig.layers.lstm import LSTM
from minisig.layers.recurrent import Recurrent
from minisig.layers.rnn import RNN
from minisig.plugins import Table

CELLS: Table[type[Recurrent]] = Table("cells", {"rnn": RNN, "lstm": LSTM, "gru": GRU})
