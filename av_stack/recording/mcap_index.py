"""Indexes the records of an MCAP file, so that the file can be completed after any of them.

A complete file ends with a DataEnd record, a summary, a footer and the magic bytes: https://mcap.dev/spec.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import IO, NamedTuple

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    McapRecord,
    Message,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.stream_reader import get_chunk_data_stream
from zstandard import ZstdError

MAGIC = b"\x89MCAP0\r\n"
HEAD = struct.Struct("<BQ")
"""Start of every record: its opcode, and the length of its content in bytes."""


class DamagedRecordError(Exception):
    """The content of a record cannot be read."""


class Record(NamedTuple):
    """One record of a file: its offset, opcode and content."""

    offset: int
    opcode: int
    content: bytes

    @property
    def size_bytes(self) -> int:
        return HEAD.size + len(self.content)

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes


def read_records(file: IO[bytes], offset: int, size_bytes: int) -> Iterator[Record]:
    """The whole records of `file` from its current position, which is byte `offset` of an MCAP file of `size_bytes`."""
    while offset + HEAD.size <= size_bytes:
        opcode, length = HEAD.unpack(file.read(HEAD.size))
        if offset + HEAD.size + length > size_bytes:
            return
        record = Record(offset, opcode, file.read(length))
        yield record
        offset = record.end


class McapIndex:
    """Collects the summary of records, which are added in the order of the file."""

    def __init__(self) -> None:
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, Channel] = {}
        self._message_counts: Counter[int] = Counter()
        self._times_ns: tuple[int, int] | None = None  # of the first and the last message
        self._chunk_count = 0
        self._earlier_chunks = bytearray()  # the indexes of all chunks but the last
        self._chunk: ChunkIndex | None = None  # of the last chunk
        self._chunk_entries: dict[int, list[tuple[int, int]]] = {}  # (time, offset) in the last chunk, by channel
        self._metadata: list[MetadataIndex] = []
        self._attachments: list[AttachmentIndex] = []

    def add(self, record: Record) -> None:
        """Add the next record. Raises DamagedRecordError and leaves the record out if it cannot be read."""
        try:
            self._add(record, ReadDataStream(BytesIO(record.content)))
        except (
            McapError,
            ZstdError,
            struct.error,
            ValueError,
            RuntimeError,
            OverflowError,
        ) as error:  # lz4 raises RuntimeError
            raise DamagedRecordError(f"record {record.opcode} at byte {record.offset}: {error}") from error

    def ending(self, offset: int) -> bytes:
        """The bytes that complete a file whose records end at byte `offset`, with the MessageIndex that a last chunk
        lacks.
        """
        message_indexes = self._index_last_chunk(offset)
        data_end = message_indexes + written([DataEnd(0)])
        summary_start = offset + len(data_end)
        last_chunk = written([self._chunk] if self._chunk is not None else [])
        summary, offsets = bytearray(), []
        for opcode, group in (
            (Opcode.SCHEMA, written(self._schemas.values())),
            (Opcode.CHANNEL, written(self._channels.values())),
            (Opcode.STATISTICS, written([self._statistics()])),
            (Opcode.CHUNK_INDEX, bytes(self._earlier_chunks) + last_chunk),
            (Opcode.ATTACHMENT_INDEX, written(self._attachments)),
            (Opcode.METADATA_INDEX, written(self._metadata)),
        ):
            if group:
                offsets.append(SummaryOffset(opcode, summary_start + len(summary), len(group)))
                summary += group
        offsets_start = summary_start + len(summary)
        summary += written(offsets)
        head = HEAD.pack(Opcode.FOOTER, 20) + struct.pack("<QQ", summary_start, offsets_start)
        footer = written([Footer(summary_start, offsets_start, zlib.crc32(head, zlib.crc32(summary)))])
        return data_end + bytes(summary) + footer + MAGIC

    def _add(self, record: Record, content: ReadDataStream) -> None:
        match record.opcode:
            case Opcode.SCHEMA | Opcode.CHANNEL | Opcode.MESSAGE:
                self._add_plain(record.opcode, len(record.content), content)
            case Opcode.CHUNK:
                self._add_chunk(record, Chunk.read(content))
            case Opcode.MESSAGE_INDEX:
                channel_id = MessageIndex.read(content).channel_id
                if self._chunk is not None:
                    self._chunk.message_index_offsets[channel_id] = record.offset
                    self._chunk.message_index_length += record.size_bytes
            case Opcode.METADATA:
                name = Metadata.read(content).name
                self._metadata.append(MetadataIndex(record.offset, record.size_bytes, name))
            case Opcode.ATTACHMENT:
                it = Attachment.read(content)
                self._attachments.append(
                    AttachmentIndex(
                        record.offset,
                        record.size_bytes,
                        it.log_time,
                        it.create_time,
                        len(it.data),
                        it.name,
                        it.media_type,
                    )
                )

    def _add_plain(self, opcode: int, length: int, content: ReadDataStream) -> None:
        """Add a record that may be inside or outside a chunk."""
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(content)
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = Channel.read(content)
            self._channels[channel.id] = channel
        else:
            message = Message.read(content, length)
            self._count(message.channel_id, message.log_time)

    def _add_chunk(self, record: Record, chunk: Chunk) -> None:
        content, length = get_chunk_data_stream(chunk, validate_crc=True)
        inner = list(read_records(BytesIO(content.read(length)), 0, length))
        entries: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for part in inner:
            if part.opcode == Opcode.MESSAGE:
                message = Message.read(ReadDataStream(BytesIO(part.content)), len(part.content))
                entries[message.channel_id].append((message.log_time, part.offset))
        for part in inner:
            if part.opcode in (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.MESSAGE):
                self._add_plain(part.opcode, len(part.content), ReadDataStream(BytesIO(part.content)))
        if self._chunk is not None:
            self._earlier_chunks += written([self._chunk])
        self._chunk_count += 1
        self._chunk_entries = dict(entries)
        self._chunk = ChunkIndex(
            chunk_length=record.size_bytes,
            chunk_start_offset=record.offset,
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            message_end_time=chunk.message_end_time,
            message_index_length=0,
            message_index_offsets={},
            message_start_time=chunk.message_start_time,
            uncompressed_size=chunk.uncompressed_size,
        )

    def _index_last_chunk(self, offset: int) -> bytes:
        """The MessageIndex records that belong at `offset`, right after the last chunk, and are not there yet."""
        chunk, records = self._chunk, b""
        if chunk is None or chunk.chunk_start_offset + chunk.chunk_length + chunk.message_index_length != offset:
            return b""
        for channel_id, entries in self._chunk_entries.items():
            if channel_id not in chunk.message_index_offsets:
                chunk.message_index_offsets[channel_id] = offset + len(records)
                records += written([MessageIndex(channel_id, entries)])
        chunk.message_index_length += len(records)
        return records

    def _count(self, channel_id: int, time_ns: int) -> None:
        self._message_counts[channel_id] += 1
        first, last = self._times_ns or (time_ns, time_ns)
        self._times_ns = (min(first, time_ns), max(last, time_ns))

    def _statistics(self) -> Statistics:
        first, last = self._times_ns or (0, 0)
        return Statistics(
            attachment_count=len(self._attachments),
            channel_count=len(self._channels),
            channel_message_counts=dict(self._message_counts),
            chunk_count=self._chunk_count,
            message_count=sum(self._message_counts.values()),
            message_end_time=last,
            message_start_time=first,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )


def written(records: Iterable[McapRecord]) -> bytes:
    """Serialize the records."""
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    data: bytes = builder.end()  # type: ignore[no-untyped-call]
    return data
