"""Bridges to what people already use. They translate; the work is done by our own modules.

sklearn/        SigmoidClassifier and SigmoidRegressor                 pip install 'minisig[sklearn]'
torch/          EP for PyTorch models; weights to and fro              pip install 'minisig[torch]'
tensorboard.py  a run's folder that also keeps a TensorBoard log       pip install 'minisig[tensorboard]'
"""
