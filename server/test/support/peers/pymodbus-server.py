"""A Modbus server on loopback: prints its port, then every coil that is written; `set <coil> <0|1>` on stdin
moves one, `refuse 0 <0|1>` makes every address an illegal one."""

import asyncio
import os
import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.server.async_io import ModbusTcpServer
from pymodbus.transaction import ModbusRtuFramer, ModbusSocketFramer

COILS = 30


class Coils(ModbusSequentialDataBlock):
    refusing = False

    def validate(self, address, count=1):
        return not self.refusing and super().validate(address, count)

    def setValues(self, address, values):
        super().setValues(address, values)
        for offset, value in enumerate(values):
            print(f"coil {address - 1 + offset} {int(value)}", flush=True)


async def main(dialect, port):
    coils = Coils(1, [False] * COILS)
    context = ModbusServerContext(slaves={1: ModbusSlaveContext(co=coils)}, single=False)
    framer = ModbusRtuFramer if dialect == "rtu" else ModbusSocketFramer
    server = ModbusTcpServer(context, framer=framer, address=("127.0.0.1", port), allow_reuse_address=True)
    serving = asyncio.ensure_future(server.serve_forever())
    await server.serving
    print(f"port {server.server.sockets[0].getsockname()[1]}", flush=True)
    loop = asyncio.get_running_loop()

    def read_order():
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        order, coil, value = line.split()
        if order == "refuse":
            coils.refusing = value == "1"
            print(f"refusing {value}", flush=True)
        else:
            coils.setValues(int(coil) + 1, [value == "1"])

    loop.add_reader(sys.stdin, read_order)
    await serving


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
