"""A seeded fuzzer of the HTTP interface: ``python -m tests.fuzz --requests 10000 --seed 1 --backend none|engine``.

``seeds`` are valid requests of all resources, ``mutations`` what is done to them (with the ``values`` that programs
stumble over), ``wire`` sends them as bytes and reads the response, ``oracle`` says what is wrong with one, ``served``
is the server they are sent to, ``run`` puts it together.
"""
