"""A subscriber of a broker's that notes what it takes, with a session that the broker keeps:
``python -m tests.server.under_kills.subscriber PORT FILE``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.server.under_kills.notes import Notes

notes = Notes(Path(sys.argv[2]))


def note(client: Client, userdata: Any, message: MQTTMessage) -> None:
    said = dict(getattr(message.properties, "UserProperty", ()))
    notes.append(said["id"], bytes(message.payload))


def subscribe(client: Client, *told: Any) -> None:
    client.subscribe("answers", 1)


session = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
session.SessionExpiryInterval = 3600
client = Client(CallbackAPIVersion.VERSION2, client_id="subscriber", protocol=MQTTv5)
client.on_message = note
client.on_connect = subscribe
client.reconnect_delay_set(1, 1)
client.connect("127.0.0.1", int(sys.argv[1]), clean_start=False, properties=session)
client.loop_forever()
