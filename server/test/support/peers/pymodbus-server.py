"""A Modbus server on loopback: prints its port, then every coil that is written; `set <coil> <0|1>` on stdin moves one."""

import asyncio
import os
import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.server.async_io import ModbusTcpServer
from pymodbus.transaction import ModbusRtuFramer, ModbusSocketFramer

COILS = 30


class Coils(ModbusSequentialDataBlock):
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
        _, coil, value = line.split()
        coils.setValues(int(coil) + 1, [value == "1"])

    loop.add_reader(sys.stdin, read_order)
    await serving


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
