#!/usr/bin/env python3
"""Exports of Nsight Systems as its versions and options leave them: tables that are missing, renamed columns, ids of 64 bits,
ranges by text or by id. One export is made here and changed by SQL; what is left of it keeps its figures, and
what is not read is named."""
import json
import pathlib
import sqlite3
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap

WORK = "start, end, deviceId, contextId, streamId, correlationId, globalPid"
TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value",
    "META_DATA_EXPORT": "name, value",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
    "TARGET_INFO_GPU": "id, name, totalMemory, smCount, cuDevice, threadsPerWarp, computeMajor, computeMinor",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId, hwId, vmId, processId, deviceId, contextId, parentContextId, isGreenContext",
    "PROCESSES": "globalPid, pid, name",
    "ThreadNames": "nameId, priority, globalTid",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{WORK}, demangledName, shortName, mangledName, registersPerThread, gridX, gridY, gridZ, blockX, "
                                  "blockY, blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, graphNodeId, graphId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{WORK}, bytes, copyKind, srcKind, dstKind, graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{WORK}, value, bytes, memKind",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{WORK}, graphId, graphExecId",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{WORK}, syncType, eventId, eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId, contextId, streamId, correlationId, globalPid, eventId, eventSyncId",
    "CUDA_CALLCHAINS": "id, symbol, module, unresolved, originalIP, stackDepth",
    "SAMPLING_CALLCHAINS": "id, symbol, module, kernelMode, stackDepth",
    "NVTX_EVENTS": "start, end, eventType, rangeId, category, color, text, globalTid, endGlobalTid, textId, domainId, uint64Value, "
                   "int64Value, doubleValue, uint32Value, int32Value, floatValue, jsonTextId, jsonText, binaryData",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId, schemaId, idx, flags, type, name, description, arrayOrUnionDetail, offset",
    "NVTX_PAYLOAD_ENUM_ENTRIES": "domainId, schemaId, idx, name, value, isFlag",
    "OSRT_API": "start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId",
    "COMPOSITE_EVENTS": "id INTEGER PRIMARY KEY, start, cpu, threadState, globalTid, cpuCycles",
    "SCHED_EVENTS": "start, cpu, isSchedIn, globalTid, threadState",
    "GENERIC_EVENTS": "rawTimestamp, timestamp, typeId, data",
    "GPU_METRICS": "timestamp, typeId, metricId, value",
    "NET_NIC_METRIC": "start, end, globalId, portId, metricsListId, metricsIdx, value",
    "TARGET_INFO_NETWORK_METRICS": "metricsListId, metricsIdx, name, description, unit",
    "TARGET_INFO_NIC_INFO": "stateName, nicId, name, deviceId, vendorId, linkLayer",
    "NIC_ID_MAP": "nicId, globalId",
    "TARGET_INFO_GPU_METRICS": "typeId, sourceId, typeName, metricId, metricName",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": "start, globalPid, deviceId, contextId, address, pc, bytes, memKind, memoryOperationType, correlationId",
    "MPI_RANKS": "globalTid, rank",
    "MPI_COLLECTIVES_EVENTS": "start, end, globalTid, textId, commHandle, rootRank, size, recvSize, requestHandle",
    "MPI_P2P_EVENTS": "start, end, globalTid, textId, commHandle, tag, remoteRank, size, requestHandle",
    "UCP_SUBMIT_EVENTS": "start, end, globalTid, textId, bufferAddr, packedSize, peerWorkerUid, tag",
    "CUDA_GRAPH_EVENTS": "start, end, eventClass, globalTid, nameId, graphId, originalGraphId, graphExecId",
    "CUDA_GRAPH_NODE_EVENTS": "start, end, eventClass, globalTid, nameId, graphNodeId, originalGraphNodeId",
    "CUDNN_EVENTS": "start, end, globalTid, nameId",
    "DIAGNOSTIC_EVENT": "timestamp, timestampType, source, severity, text, globalPid",
}
PIDS = (100, 200)


def make(path):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    for table, columns in TABLES.items():
        db.execute(f"CREATE TABLE {table} ({columns.replace('end', '[end]', 1) if ' end,' in columns else columns})")
    strings = {}

    def text(s):
        return strings.setdefault(s, len(strings) + 1)

    def put(table, **row):
        names = ", ".join(f"[{c}]" for c in row)
        db.execute(f"INSERT INTO {table}({names}) VALUES({', '.join('?' * len(row))})", list(row.values()))

    put("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value="3.25.0")
    put("META_DATA_EXPORT", name="EXPORT_PARAM_TIME_SHIFT", value="0")
    put("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
    put("TARGET_INFO_GPU", id=0, name="NVIDIA H100", totalMemory=85 << 30, smCount=132, cuDevice=0, threadsPerWarp=32, computeMajor=9,
        computeMinor=0)
    put("DIAGNOSTIC_EVENT", timestamp=1, severity=1, text="Profiling has started.")
    for severity, said in ((2, "Not all events\nwere collected."), (2, "Not all events\nwere collected."), (4, "Wrote 3 events."), (3, "CUDA failed."),
                           (2, "No OpenGL events collected. Does the process use OpenGL?")):
        put("DIAGNOSTIC_EVENT", timestamp=1, severity=severity, text=said)
    put("TARGET_INFO_GPU_METRICS", typeId=3 << 32, sourceId=1, typeName="GPU", metricId=7, metricName="SM Active")
    put("GPU_METRICS", timestamp=500, typeId=3 << 32, metricId=7, value=42)
    put("TARGET_INFO_NETWORK_METRICS", metricsListId=2, metricsIdx=0, name="IB: Bytes sent", unit="B/ms")
    put("TARGET_INFO_NIC_INFO", nicId=11, name="mlx5_0")
    put("NIC_ID_MAP", nicId=11, globalId=3 << 56)
    for at, value in ((500, 100), (510, 300)):
        put("NET_NIC_METRIC", start=at, end=at + 10, globalId=3 << 56, portId=1, metricsListId=2, metricsIdx=0, value=value)
    put("OSRT_API", start=710, end=711, globalTid=1 << 48 | 9 << 24 | 9, nameId=text("sleep"), nestingLevel=0)  # of the launcher
    for rank, pid in enumerate(PIDS):
        p = 1 << 48 | pid << 24
        tid = p | pid + 1
        work = dict(deviceId=0, contextId=1, streamId=7, globalPid=p)
        put("PROCESSES", globalPid=p, pid=pid, name="train")
        put("ThreadNames", nameId=text("main"), globalTid=tid)
        put("MPI_RANKS", globalTid=tid, rank=rank + 4)
        put("CUDA_CALLCHAINS", id=1, symbol=text("launch"), module=text("/x/libtorch.so"), stackDepth=0)
        for k in range(4):
            t = 1000 + 1000 * k
            put("CUPTI_ACTIVITY_KIND_RUNTIME", start=t, end=t + 20, eventClass=0, globalTid=tid, correlationId=k + 1,
                nameId=text("cudaLaunchKernel_v7000"), returnValue=0, callchainId=1)
            put("CUPTI_ACTIVITY_KIND_KERNEL", start=t + 50, end=t + 150 + k, **work, correlationId=k + 1, demangledName=text(f"k{k % 2}<int>(int)"),
                shortName=text(f"k{k % 2}"), mangledName=text(f"_Z2k{k % 2}i"), registersPerThread=32, gridX=10, gridY=1, gridZ=1,
                blockX=128, blockY=1, blockZ=1, staticSharedMemory=16, dynamicSharedMemory=32, localMemoryPerThread=0,
                graphNodeId=(k + 1 if k > 1 else None), graphId=(5 if k > 1 else None))
            put("NVTX_EVENTS", start=t - 10, end=t + 30, eventType=59, textId=text(f"layer{k}"), globalTid=tid, domainId=(2 if k == 3 else 0),
                category=(9 if k == 3 else None), uint64Value=(77 if k == 3 else None))
        put("NVTX_EVENTS", start=900, end=6000, eventType=60, rangeId=1, text="step", globalTid=tid, endGlobalTid=tid, domainId=0)
        put("NVTX_EVENTS", start=950, eventType=34, text="here", globalTid=tid, domainId=0)
        put("NVTX_EVENTS", eventType=75, text="NCCL", globalTid=tid, domainId=2)
        put("NVTX_EVENTS", eventType=33, text="loss", category=9, globalTid=tid, domainId=2)
        for corr, name in ((10, "cudaMemcpyAsync_v3020"), (11, "cudaMemsetAsync_v3020")):
            put("CUPTI_ACTIVITY_KIND_RUNTIME", start=4900 + corr, end=4901 + corr, eventClass=0, globalTid=tid, correlationId=corr, nameId=text(name))
        put("CUPTI_ACTIVITY_KIND_MEMCPY", start=5000, end=5100, **work, correlationId=10, bytes=4096, copyKind=1, srcKind=1, dstKind=2)
        put("CUPTI_ACTIVITY_KIND_MEMSET", start=5200, end=5210, **work, correlationId=11, bytes=64, value=0, memKind=2)
        put("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=5300, end=5400, **work, correlationId=12, graphId=8, graphExecId=9)
        put("CUPTI_ACTIVITY_KIND_RUNTIME", start=5290, end=5295, eventClass=0, globalTid=tid, correlationId=12, nameId=text("cudaGraphLaunch_v10000"))
        put("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **work, correlationId=13, eventId=3, eventSyncId=77)
        put("CUPTI_ACTIVITY_KIND_RUNTIME", start=5450, end=5455, eventClass=0, globalTid=tid, correlationId=13, nameId=text("cudaEventRecord_v3020"))
        put("CUPTI_ACTIVITY_KIND_RUNTIME", start=5460, end=5560, eventClass=0, globalTid=tid, correlationId=14, nameId=text("cudaEventSynchronize_v3020"))
        put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=5461, end=5559, **work, correlationId=14, syncType=2, eventId=3, eventSyncId=77)
        for context, device, default in ((1, 0, 7), (2, 3, 15)):
            put("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=default, hwId=0, vmId=1, processId=pid, deviceId=device, contextId=context)
        put("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=16, hwId=0, vmId=1, processId=pid, deviceId=3, contextId=3, parentContextId=2, isGreenContext=1)
        put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=5570, end=5572, deviceId=0, contextId=2, streamId=0xffffffff, correlationId=16,
            globalPid=p, syncType=4, eventId=0xffffffff)
        put("OSRT_API", start=700, end=800, globalTid=tid, nameId=text("poll"), nestingLevel=0)
        put("COMPOSITE_EVENTS", start=1005, cpu=1, globalTid=tid, cpuCycles=1)
        put("COMPOSITE_EVENTS", start=1006, cpu=1, globalTid=tid, cpuCycles=0)
        for depth, (symbol, module) in enumerate((("read", "/lib/libc.so.6"), ("dgemm", "/x/libblas.so"), ("forward", "/x/model.py"), ("Py_Main", "/x/python3"))):
            put("SAMPLING_CALLCHAINS", id=2 * rank + 1, symbol=text(symbol), module=text(module), stackDepth=depth)
        for at, on in ((1000, 1), (1012, 0), (1042, 1), (1050, 0)):
            put("SCHED_EVENTS", start=at, cpu=1, isSchedIn=on, globalTid=tid, threadState=0)
        put("GENERIC_EVENTS", rawTimestamp=1, timestamp=1, typeId=1, data="{}")
        put("CUDA_GPU_MEMORY_USAGE_EVENTS", start=600, globalPid=p, deviceId=0, contextId=1, address=4096, bytes=1024, memKind=2,
            memoryOperationType=0, correlationId=20)
        put("MPI_COLLECTIVES_EVENTS", start=5600, end=5700, globalTid=tid, textId=text("MPI_Allreduce"), commHandle=1 << 40, size=4096)
        put("MPI_P2P_EVENTS", start=5730, end=5735, globalTid=tid, textId=text("MPI_Send"), tag=0, remoteRank=1 - rank, size=512)
        put("UCP_SUBMIT_EVENTS", start=5740, end=5745, globalTid=tid, textId=text("ucp_tag_send_nbx"), packedSize=256, peerWorkerUid=3, tag=9)
        put("CUDA_GRAPH_EVENTS", start=5280, end=5281, globalTid=tid, nameId=text("Graph Creation"), graphId=8, graphExecId=9)
        put("NVTX_EVENTS", start=5270, end=5282, eventType=59, text="capture", globalTid=tid, domainId=0)
        for node, original in ((1, None), (3, 1)):
            put("CUDA_GRAPH_NODE_EVENTS", start=5280 + node, end=5280 + node, globalTid=tid, nameId=text("Graph Node Creation"), graphNodeId=node,
                originalGraphNodeId=original)
        for idx, (kind, name, offset) in enumerate(((18, "NCCL communicator ID", None), (22, "Message size [bytes]", 8), (1 << 24, "Operation", 16))):
            put("NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=2, schemaId=16777220, idx=idx, type=kind, name=name, offset=offset)
        put("NVTX_PAYLOAD_ENUM_ENTRIES", domainId=2, schemaId=1 << 24, idx=0, name="Sum", value=0)
        put("NVTX_EVENTS", start=5650, end=5660, eventType=59, text="ncclAllReduce", globalTid=tid, domainId=2,
            binaryData=struct.pack("<4Q2QII", 2, 16777220, 24, 56, 1 << 63, 1 << 20, 0, 0))
        put("CUDNN_EVENTS", start=5710, end=5720, globalTid=tid, nameId=text("cudnnConvolutionForward"))
    for s, i in strings.items():
        db.execute("INSERT INTO StringIds VALUES(?, ?)", (i, s))
    db.commit()
    db.close()
    return path


FACTS = {
    "kernels": ("select name, count(*), sum(dur) from kernels where graph is not 8 and name <> 'graph launch' group by 1 order by 1",
                [["k0<int>(int)", 4, 404], ["k1<int>(int)", 4, 408]]),
    "shapes": ("select distinct grid_x, block_x, regs, lds_size from kernels where name <> 'graph launch'", [[10, 128, 32, 48]]),
    "graph nodes": ("select graph_node, count(*) from kernels where graph = 5 group by 1", [[3, 2], [4, 2]]),
    "copies": ("select name, sum(size), sum(dur) from memory_copies group by 1", [["Memcpy HtoD (Pinned -> Device)", 8192, 200]]),
    "memsets": ("select sum(size), sum(dur) from memsets", [[128, 20]]),
    "whole graphs": ("select count(*), sum(dur) from kernels where name = 'graph launch'", [[2, 200]]),
    "calls": ("select name, count(*), sum(dur) from regions where category = 'runtime' group by 1 order by 1",
              [["cudaEventRecord", 2, 10], ["cudaEventSynchronize", 2, 200], ["cudaGraphLaunch", 2, 10], ["cudaLaunchKernel", 8, 160], ["cudaMemcpyAsync", 2, 2], ["cudaMemsetAsync", 2, 2]]),
    "launches": ("select count(*) from kernels where call is not null", [[10]]),
    "stacks": ("select count(*) from api where stack is not null", [[8]]),
    "waits": ("select count(*), sum(record_corr) from sync where name = 'Event Sync'", [[2, 26]]),
    "contexts without work": ("select distinct t.pid from sync s join track t on t.rowid = s.track where s.name = 'Context Sync'", [[3]]),
    "default streams": ("select device, id, count(*) from stream where flags = 1 group by 1, 2 order by 1", [[0, 7, 2], [3, 15, 2]]),
    "ranges": ("select name, count(*), sum(dur) from regions where category in ('marker', 'process_range') group by 1 order by 1",
               [["capture", 2, 24], ["here", 2, 0], *[[f"layer{k}", 2, 80] for k in range(4)], ["ncclAllReduce", 2, 20], ["step", 2, 10200]]),
    "domain, category, payload": ("select distinct args from host where args like '%NCCL%loss%'",
                                  [['"domain": "NCCL","category": "loss","payload": 77']]),
    "operating system": ("select count(*), sum(h.dur) from host h where h.name = 'poll'", [[2, 200]]),
    "samples": ("select count(*) from sample where flags = 0", [[2]]),
    "turns of threads": ("select state, count(*), sum(dur), sum(cpu) from sample where flags = 64 group by 1 order by 1", [["off_processor", 2, 60, 0], ["running", 4, 40, 40]]),
    "stacks of samples": ("select distinct p.function p, c.function c, n.function n from sample s join stack st on st.rowid = s.stack join code p on p.rowid = st.code "
                          "join stack sc on sc.rowid = s.calls join code c on c.rowid = sc.code join code n on n.rowid = s.native", [["forward", "read", "dgemm"]]),
    "metrics": ("select name, value from counter where name like 'SM%'", [["SM Active", 42.0]]),
    "network cards": ("select name, ts - (select min(ts) from counter), value from counter where name not like 'SM%' order by 2",
                      [["mlx5_0 port 1 IB: Bytes sent", 0, 100.0], ["mlx5_0 port 1 IB: Bytes sent", 10, 300.0]]),
    "scopes of graphs": ("select distinct s.name s, u.name u from gpu g join gpu_scope i on i.rowid = g.rowid join scope s on s.rowid = i.scope "
                         "join scope u on u.rowid = s.up where g.graph_node = 3",
                         [["capture", "layer2"]]),
    "memory": ("select sum(bytes) from alloc", [[2048]]),
    "ranks": ("select rank from source order by 1", [[4], [5]]),
    "MPI": ("select count(*), sum(dur) from host where name = 'MPI_Allreduce'", [[2, 200]]),
    "numbers of messages": ("select distinct name, args from host where name like 'MPI%' or name like 'ucp%' order by 1, 2",
                            [["MPI_Allreduce", f'"commHandle": {1 << 40},"size": 4096'], ["MPI_Send", '"tag": 0,"remoteRank": 0,"size": 512'],
                             ["MPI_Send", '"tag": 0,"remoteRank": 1,"size": 512'], ["ucp_tag_send_nbx", '"packedSize": 256,"peerWorkerUid": 3,"tag": 9']]),
    "making of graphs": ("select name, args, count(*) from host where name like 'Graph %' group by 1, 2 order by 1, 2",
                         [["Graph Creation", '"graphId": 8,"graphExecId": 9', 2], ["Graph Node Creation", '"graphNodeId": 1', 2],
                          ["Graph Node Creation", '"graphNodeId": 3,"originalGraphNodeId": 1', 2]]),
    "executable graphs": ("select distinct args from gpu where graph = 8", [['"graphExecId": 9']]),
    "fields of payloads": ("select distinct args from host where name = 'ncclAllReduce'",
                           [['"domain": "NCCL","payload": {"NCCL communicator ID": 9223372036854775808, "Message size [bytes]": 1048576, "Operation": "Sum"}']]),
    "cuDNN": ("select count(*), sum(dur) from host where name = 'cudnnConvolutionForward'", [[2, 20]]),
    "threads": ("select distinct name from track where kind = 'thread' and name is not null", [["main"]]),
    "devices": ("select distinct name, arch from device where name is not null", [["NVIDIA H100", "sm_90"]]),
}
# What a table carries alone: it may differ when the table is dropped.
CARRIES = {
    "StringIds": {"kernels", "calls", "launches", "whole graphs", "waits", "contexts without work", "ranges", "operating system", "MPI", "cuDNN", "threads", "copies",
                  "numbers of messages", "making of graphs", "stacks of samples", "scopes of graphs"},
    "CUPTI_ACTIVITY_KIND_KERNEL": {"kernels", "shapes", "graph nodes", "launches", "scopes of graphs"},
    "CUPTI_ACTIVITY_KIND_MEMCPY": {"copies"},
    "CUPTI_ACTIVITY_KIND_MEMSET": {"memsets"},
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": {"whole graphs", "launches", "executable graphs"},
    "CUPTI_ACTIVITY_KIND_RUNTIME": {"calls", "launches", "stacks", "waits", "scopes of graphs"},
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": {"waits", "contexts without work"},
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": {"waits"},
    "CUDA_CALLCHAINS": {"stacks"},
    "NVTX_EVENTS": {"ranges", "domain, category, payload", "fields of payloads", "scopes of graphs"},
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": {"fields of payloads"},
    "NVTX_PAYLOAD_ENUM_ENTRIES": {"fields of payloads"},
    "OSRT_API": {"operating system"},
    "COMPOSITE_EVENTS": {"samples", "stacks of samples"},
    "GPU_METRICS": {"metrics"},
    "TARGET_INFO_GPU_METRICS": {"metrics"},
    "CUDA_GPU_MEMORY_USAGE_EVENTS": {"memory"},
    "MPI_RANKS": {"ranks"},
    "MPI_COLLECTIVES_EVENTS": {"MPI", "numbers of messages"},
    "MPI_P2P_EVENTS": {"numbers of messages"},
    "UCP_SUBMIT_EVENTS": {"numbers of messages"},
    "CUDA_GRAPH_EVENTS": {"making of graphs"},
    "CUDA_GRAPH_NODE_EVENTS": {"making of graphs", "scopes of graphs"},
    "NET_NIC_METRIC": {"network cards"},
    "TARGET_INFO_NETWORK_METRICS": {"network cards"},
    "TARGET_INFO_NIC_INFO": {"network cards"},
    "NIC_ID_MAP": {"network cards"},
    "SAMPLING_CALLCHAINS": {"stacks of samples"},
    "SCHED_EVENTS": {"turns of threads"},
    "CUDNN_EVENTS": {"cuDNN"},
    "ThreadNames": {"threads"},
    "TARGET_INFO_GPU": {"devices"},
    "TARGET_INFO_CUDA_CONTEXT_INFO": {"contexts without work", "default streams"},
}
# Changes that versions and options make, and the facts that may differ by them.
VARIANTS = {
    "2.9: the old name of the facts": ("ALTER TABLE META_DATA_EXPORT RENAME TO EXPORT_META_DATA", set()),
    "ids of 64 bits": ("UPDATE StringIds SET id = id + (1 << 62);" + "".join(
        f"UPDATE {t} SET {c} = {c} + (1 << 62);" for t, cs in {
            "CUPTI_ACTIVITY_KIND_KERNEL": ("demangledName", "shortName", "mangledName"), "CUPTI_ACTIVITY_KIND_RUNTIME": ("nameId",),
            "NVTX_EVENTS": ("textId",), "OSRT_API": ("nameId",), "ThreadNames": ("nameId",), "CUDA_CALLCHAINS": ("symbol", "module"),
            "SAMPLING_CALLCHAINS": ("symbol", "module"), "MPI_COLLECTIVES_EVENTS": ("textId",), "MPI_P2P_EVENTS": ("textId",),
            "UCP_SUBMIT_EVENTS": ("textId",), "CUDA_GRAPH_EVENTS": ("nameId",), "CUDA_GRAPH_NODE_EVENTS": ("nameId",), "CUDNN_EVENTS": ("nameId",)}.items() for c in cs), set()),
    "ranges by text": ("UPDATE NVTX_EVENTS SET text = (SELECT value FROM StringIds WHERE id = textId), textId = NULL WHERE text IS NULL", set()),
    "ranges by id": ("INSERT INTO StringIds SELECT 900 + rowid, text FROM NVTX_EVENTS WHERE text NOT NULL;"
                     "UPDATE NVTX_EVENTS SET textId = 900 + rowid, text = NULL WHERE text NOT NULL", set()),
    "no ranges by id at all (2020)": ("UPDATE NVTX_EVENTS SET text = (SELECT value FROM StringIds WHERE id = textId) WHERE text IS NULL;"
                                      "ALTER TABLE NVTX_EVENTS DROP COLUMN textId", set()),
    "no demangled names": ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = NULL", {"kernels"}),
    "no graphs (2020)": ("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphNodeId; ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphId;"
                         "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN graphNodeId", {"graph nodes", "scopes of graphs"}),
    "no sync ids (before 3.17)": ("ALTER TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION DROP COLUMN eventSyncId;"
                                  "ALTER TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT DROP COLUMN eventSyncId", {"waits"}),
    "a recipe's columns": ("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN name TEXT; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET name = 'x';"
                           "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN name TEXT", set()),
    "a table without rowids": ("CREATE TABLE s2(id INTEGER PRIMARY KEY, value) WITHOUT ROWID; INSERT INTO s2 SELECT * FROM StringIds;"
                               "DROP TABLE StringIds; ALTER TABLE s2 RENAME TO StringIds", set()),
    "3.28: ranges with a primary key behind all else": (
        f"CREATE TABLE n2({TABLES['NVTX_EVENTS']}, eventId INTEGER PRIMARY KEY); INSERT INTO n2 SELECT *, rowid + 7 FROM NVTX_EVENTS ORDER BY rowid;"
        "DROP TABLE NVTX_EVENTS; ALTER TABLE n2 RENAME TO NVTX_EVENTS", set()),
    "a view in place of a table": ("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k2; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM k2", set()),
    "pages of 64 KiB": ("PRAGMA page_size = 65536; VACUUM", set()),
    "pages of 512 bytes": ("PRAGMA page_size = 512; VACUUM", set()),
    "a header that says there may be a log": ("PRAGMA journal_mode = WAL", set()),
    "a range that never ends": ("UPDATE NVTX_EVENTS SET end = NULL WHERE eventType = 60", {"ranges"}),
    "text where numbers belong": ("UPDATE CUPTI_ACTIVITY_KIND_MEMSET SET start = 'x'", {"memsets"}),
    "contexts of nobody knows which device": ("UPDATE TARGET_INFO_CUDA_CONTEXT_INFO SET deviceId = NULL WHERE contextId > 1",
                                              {"contexts without work", "default streams"}),
    "metrics among other events (before 2023)": ("DROP TABLE GPU_METRICS; CREATE TABLE GENERIC_EVENT_SOURCES(sourceId, data); CREATE TABLE GENERIC_EVENT_TYPES(typeId, sourceId, data);"
                                                 "INSERT INTO GENERIC_EVENT_SOURCES VALUES(1, '{\"Name\": \"GpuMetrics\"}'); INSERT INTO GENERIC_EVENT_TYPES VALUES(256, 1, '{}');"
                                                 "INSERT INTO GENERIC_EVENTS VALUES(2000, NULL, 256, '{\"SM Active\": \"42\"}')", set()),
    "turns without states (before 3.4)": ("ALTER TABLE SCHED_EVENTS DROP COLUMN threadState", set()),
    "all tables, some empty (2022)": ("CREATE TABLE NET_IB_SWITCH_METRIC(start, end, globalId); CREATE TABLE FECS_EVENTS(timestamp)", set()),
}


def facts(path):
    found = {}
    for what, (query, _) in FACTS.items():
        code, out, err = tap.run("sql", "--format", "json", path, query)
        found[what] = [list(r.values()) for r in json.loads(out)] if code == 0 else err
    return found


def check(name, path, may_differ):
    got = facts(path)
    wrong = {w: got[w] for w, (_, want) in FACTS.items() if w not in may_differ and got[w] != want}
    crashed = [w for w in may_differ if isinstance(got[w], str)]
    tap.ok(name, not wrong and not crashed, f"{wrong} {crashed and {w: got[w] for w in crashed}}")


def check_managed(path):
    """Pages of managed memory move because somebody touches them: no call is missing, and what the GPU waits for is known."""
    db = sqlite3.connect(path)
    p = 1 << 48 | PIDS[0] << 24
    for at in range(5):
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind) "
                   "VALUES(?, ?, 0, 1, 0, 0, ?, 4096, ?)", (10000 + 100000 * at, 10500 + 100000 * at, p, 12 if at else 11))
    db.commit()
    db.close()
    names = tap.sql(path, "select name, count(*) n, sum(bytes) b from gpu where name like '%Unified%' group by 1 order by 1")
    tap.ok("moves of managed memory are named and have their bytes", names == [{"name": "Memcpy DtoH (Unified Memory)", "n": 4, "b": 16384},
           {"name": "Memcpy HtoD (Unified Memory)", "n": 1, "b": 4096}], names)
    told = json.loads(tap.run("report", "--json", path)[1])
    device = next(d for d in told["devices"] if d["events"] > 9)
    lost = [i for i in told["issues"] if i["id"] == "unlinked"]
    tap.ok("moves of managed memory lack no call", device["linked"] == device["events"] and not lost, (device["linked"], device["events"], lost))
    causes = device["idle_causes_ns"]
    tap.ok("the GPU waits between moves of managed memory", causes["migration"] >= 4 * 99500 and not causes["unlinked"], causes)
    path_out = tap.run("path", "--json", path)[1]
    tap.ok("the critical path knows them, too", path_out and json.loads(path_out)["classes_ns"]["unlinked"] == 0, path_out[:300])


def main():
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        base = make(tmp / "base.sqlite")
        check("an export of all tables has the figures of its rows", base, set())
        for change, (sql, may_differ) in VARIANTS.items():
            copy = tmp / "variant.sqlite"
            copy.write_bytes(base.read_bytes())
            db = sqlite3.connect(copy)
            db.executescript(sql)
            db.close()
            check(f"an export with {change} keeps its figures", copy, may_differ)
        for table in TABLES:
            copy = tmp / "variant.sqlite"
            copy.write_bytes(base.read_bytes())
            db = sqlite3.connect(copy)
            db.execute(f"DROP TABLE {table}")
            db.commit()
            db.close()
            check(f"without {table} the rest keeps its figures", copy, CARRIES.get(table, set()))
        code, out, err = tap.run("info", base)
        tap.ok("tables that are not read are named", 
               "not read: GENERIC_EVENTS (2 rows), of processes without GPU work (1 rows)\n" in out, out + err)
        db = sqlite3.connect(tmp / "variant.sqlite")
        for table in TABLES:
            if table not in ("StringIds", "OSRT_API", "META_DATA_EXPORT", "TARGET_INFO_GPU"):
                db.execute(f"DROP TABLE IF EXISTS {table}")
        db.commit()
        db.close()
        rows = tap.sql(tmp / "variant.sqlite", "select count(distinct source) s, count(*) n from host join track on track.rowid = host.track")
        tap.ok("of an export without GPU work all processes are read", rows == [{"s": 3, "n": 3}], rows)
        said = [r["text"] for r in json.loads(tap.run("sql", "--format", "json", base, "select text from warning")[1])]
        tap.ok("errors of the recorder come first, once each, and what it did not find is no warning",
               said == ["nsys says: CUDA failed.", "nsys says: Not all events were collected."], said)
        for command in ("report", "waits", "scopes", "path"):
            code, out, err = tap.run(command, base)
            tap.ok(f"{command} takes the export", code == 0 and not err, err)
        managed = tmp / "managed.sqlite"
        managed.write_bytes(base.read_bytes())
        check_managed(managed)
        nvprof = tmp / "nvprof.sqlite"
        db = sqlite3.connect(nvprof)
        db.executescript("CREATE TABLE StringTable(_id_, value); CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end)")
        db.close()
        code, out, err = tap.run("report", nvprof)
        tap.ok("a database of nvprof is refused in words", code == 1 and "nvprof" in err, err)


main()
tap.done()
