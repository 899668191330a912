"""TensorFlow: the reference networks in Keras 3, as a graph (`tf.function`), with or without XLA."""
