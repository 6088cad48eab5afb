"""MQTT 3.1.1 and 5: ``connection`` reads a persistent session, ``redelivery`` tells what comes again, ``client`` is the
network's side.
"""
