"""A trained model in use: loaded from its file alone, it predicts, is tested, and is exported.

model.py        Model: predict, predict_proba, test
writing.py      a language model: sample, score
rows.py         rows as people have them: arrays, dicts, frames of pandas and polars, files of any size
onnx.py         the same model as ONNX
"""
