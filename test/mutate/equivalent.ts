/** Equivalent mutant: behaves like the original code, so that no test can detect it. */
export interface Equivalent {
  file: string;
  /** Line on which the change begins, trimmed. */
  line: string;
  /** Change in the form that the list of survivors prints. */
  change: string;
  why: string;
}

/** Reason for functions that return a negative number on failure, which callers check as `< 0`. */
const anyNegative = "Every negative number says the same";

export const equivalents: Equivalent[] = [
  ...["0 → (0 - 1)", "this.length === 0 → false"].map((change) => ({
    file: "src/concurrency/fifo.ts",
    line: "if (this.length === 0) return undefined;",
    change,
    why: "What follows takes undefined from an empty queue, and compacts it",
  })),
  {
    file: "src/pipeline/repetitions/recent-ids.ts",
    line: "this.#used = 0;",
    change: "0 → (0 - 1)",
    why: "The resize that follows keeps no slots, and counts them",
  },
  {
    file: "src/figures/figures.ts",
    line: "const isRecent = lastHour !== undefined && lastHour >= oldestMinute(now) + HOUR_MS;",
    change:
      "lastHour !== undefined && lastHour >= oldestMinute(now) + HOUR_MS → (lastHour !== undefined)",
    why: "An older hour has no minutes any more",
  },
  {
    file: "src/event/text/span.ts",
    line: "if (end - start > 16) bytes.copyWithin(out + 16, start + 16, end);",
    change: "end - start > 16 → end - start >= 16",
    why: "No bytes are copied",
  },
  {
    file: "src/event/json/tree.ts",
    line: "const NODE_FIELDS = 11;",
    change: "11 → (11 + 1)",
    why: "One field of each node is unused",
  },
  {
    file: "src/store/lmdb/environment.ts",
    line: 'if (outcome.status === "fulfilled" || !(outcome.reason instanceof Error)) return undefined;',
    change: '"fulfilled" → ""',
    why: "A fulfilled outcome has no reason",
  },
  {
    file: "src/store/lmdb/lmdb-integrity.ts",
    line: "const WINDOWS_MAX = 256;",
    change: "256 → (256 - 1)",
    why: "One window less is kept in memory",
  },
  {
    file: "src/store/ordered/change-set.ts",
    line: "return value === undefined ? { table, key } : { table, key, value };",
    change: "value === undefined → false",
    why: "A write with an undefined value is a removal, too",
  },
  {
    file: "src/store/ordered/ordered-view.ts",
    line: "if (compaction !== undefined && local.has(write)) continue;",
    change: "compaction !== undefined && local.has(write) → (local.has(write))",
    why: "A write that leaves its row as it is has no effect",
  },
  {
    file: "src/store/lmdb/lmdb-store.ts",
    line: "clearTimeout(this.#probe);",
    change: "clearTimeout(this.#probe); → ;",
    why: "One probe more is written",
  },
  {
    file: "src/store/lmdb/lmdb-integrity.ts",
    line: 'if (depth > DEPTH_MAX) throw new IntegrityFault("a tree is too deep");',
    change: "depth > DEPTH_MAX → depth >= DEPTH_MAX",
    why: "LMDB itself opens no tree of this depth",
  },
  {
    file: "src/catalog/live.ts",
    line: 'const stamp = credentials.stamps.get(workspaceId) ?? "0";',
    change: '"0" → ""',
    why: "Any text that is no stamp stands for a workspace without credentials",
  },
  {
    file: "src/catalog/management/sessions.ts",
    line: "const isOver = other.expiresAt <= session.createdAt;",
    change: "other.expiresAt <= session.createdAt → other.expiresAt < session.createdAt",
    why: "A session that expires in this millisecond is removed by the next one",
  },
  {
    file: "src/event/json/tree.ts",
    line: "let slot = Math.imul(hash ^ parent, 0x9e3779b1) >>> (32 - SLOT_BITS);",
    change: "0x9e3779b1 → (0x9e3779b1 + 1)",
    why: "Another factor that spreads the slots",
  },
  {
    file: "src/store/lmdb/lmdb-integrity.ts",
    line: "#pages = 0;",
    change: "0 → (0 + 1)",
    why: "A whole file has one page less than the bound, since two pages belong to no tree",
  },
  {
    file: "src/egress/response-reader.ts",
    line: "const end = head.indexOf(headEnd, Math.max(0, known - 3));",
    change: "0 → (0 + 1)",
    why: "No head ends at its first byte",
  },
  {
    file: "src/catalog/secrets.ts",
    line: "const WRITE_KEY_RANDOM_BITS = 160;",
    change: "160 → (160 - 1)",
    why: "As many letters",
  },
  {
    file: "src/catalog/code/revisions.ts",
    line: "const now = Math.max(Date.now(), before.createdAt + 1);",
    change: "1 → (1 + 1)",
    why: "Any later time keeps the order",
  },
  {
    file: "src/event/json/tree.ts",
    line: "let freeSlot = 0;",
    change: "0 → (0 - 1)",
    why: "Each search sets the slot before anything is put there",
  },
  {
    file: "src/event/json/tree.ts",
    line: "const FIXED_NODES_MAX = 20;",
    change: "20 → (20 + 1)",
    why: "More room than is used",
  },
  {
    file: "src/event/pair.ts",
    line: "levels: 0,",
    change: "0 → (0 + 1)",
    why: "A pair is read before it is asked for",
  },
  {
    file: "src/http/input-buffer.ts",
    line: "this.searched = Math.max(0, this.searched - this.at);",
    change: "0 → (0 + 1)",
    why: "No head ends at its first byte",
  },
  {
    file: "src/http/request-reader.ts",
    line: "this.input.searched = Math.max(at, end - HEAD_END.length + 1);",
    change: "1 → (1 - 1)",
    why: "The next search begins one byte before",
  },
  {
    file: "src/http/response.ts",
    line: "this.#date = date;",
    change: "this.#date = date; → ;",
    why: "The date is formatted for each answer: slower, and the same bytes",
  },
  {
    file: "src/http/body.ts",
    line: "if (chunkEnd + 2 > end) return 0;",
    change: "chunkEnd + 2 > end → chunkEnd + 2 >= end",
    why: "A chunk that ends here is read with what follows it, and something must follow",
  },
  {
    file: "src/egress/response-reader.ts",
    line: "status = 0;",
    change: "0 → (0 - 1)",
    why: "An answer has a status before anyone reads it",
  },
  {
    file: "src/event/json/tree.ts",
    line: "nodes[ANONYMOUS_ID + KIND] = VACANT;",
    change: "ANONYMOUS_ID + KIND → ANONYMOUS_ID - KIND",
    why: "The kind is a node's first field, at 0",
  },
  {
    file: "src/event/pair.ts",
    line: "export const text = { start: 0, end: 0 };",
    change: "0 → (0 - 1)",
    why: "A text is decoded before it is asked for",
  },
  {
    file: "src/catalog/code/imports.ts",
    line: "return imports.flatMap(({ t, n }) => (t === STATIC && n !== undefined ? [n] : []));",
    change: "t === STATIC && n !== undefined → (t === STATIC)",
    why: "A static import has a name; the compiler does not know",
  },
  {
    file: "src/pipeline/live-tail.ts",
    line: "if (this.#subscribers.size > 0 && this.#subscribers.has(workspaceId)) return true;",
    change:
      "this.#subscribers.size > 0 && this.#subscribers.has(workspaceId) → (this.#subscribers.size > 0)",
    why: "A message for a workspace without subscribers is built, and sent to none",
  },
  {
    file: "src/log/segment/block-run.ts",
    line: "if (found.blocks.length > 0 || size <= offset) return found;",
    change: "found.blocks.length > 0 || size <= offset → (found.blocks.length > 0)",
    why: "A search behind the end of a file finds nothing",
  },
  {
    file: "src/log/io/page.ts",
    line: "const start = -ptr(memory) & (PAGE_BYTES - 1);",
    change: "1 → (1 + 1)",
    why: "Memory begins at even addresses",
  },
  {
    file: "src/log/segment/segment-index.ts",
    line: "if (entry.offset <= this.#furthest.offset) return;",
    change: "entry.offset <= this.#furthest.offset → entry.offset < this.#furthest.offset",
    why: "The place that is noted again is the same one",
  },
  {
    file: "src/log/reader.ts",
    line: "return this.#segments.findLast(({ first }) => first <= position) ?? this.#segments[0];",
    change: "first <= position → first < position",
    why: "The search continues from the segment before: slower, to the same block",
  },
  {
    file: "src/log/reader.ts",
    line: "while (segment !== undefined && start !== undefined) {",
    change: "segment !== undefined && start !== undefined → (start !== undefined)",
    why: "There is a place only in a segment; the compiler does not know",
  },
  {
    file: "src/log/reader.ts",
    line: "if (missing > 0) this.#report.missing(directory, { from, to }, missing);",
    change: "missing > 0 → missing >= 0",
    why: "A loss of no record is not told there either",
  },
  {
    file: "src/log/writer.ts",
    line: "if (segment.end > 0 && (this.#isOld || segment.end + batch.bytes > this.#segmentBytesMax)) {",
    change: "0 → (0 + 1)",
    why: "No block is of one byte",
  },
  {
    file: "src/log/io/unreadable.ts",
    line: "writeSync(file.fd, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, 0);",
    change: "0 → (0 + 1)",
    why: "Where in the file that tries the disk the page is written says nothing",
  },
  {
    file: "src/log/flush-batch.ts",
    line: "if (this.#spare.length < SPARE_BUFFERS) this.#spare.push(block.buffer);",
    change: "this.#spare.length < SPARE_BUFFERS → !(this.#spare.length < SPARE_BUFFERS)",
    why: "The next blocks are allocated instead: slower, and the same blocks",
  },
  {
    file: "src/log/segment/block-run.ts",
    line: "const window = await readWindow(fd, at, Math.min(size - at, 2 * LOG_BLOCK_BYTES_MAX));",
    change: "size - at → size + at",
    why: "A read ends with its file",
  },
  {
    file: "src/log/writer.ts",
    line: "this.#batcher.recycle(batch);",
    change: "this.#batcher.recycle(batch); → ;",
    why: "The next blocks are allocated instead: slower, and the same blocks",
  },
  {
    file: "src/log/writer.ts",
    line: "} while (this.#batcher.waiting.count > count && performance.now() < until);",
    change: "performance.now() < until → performance.now() <= until",
    why: "No clock shows the very end",
  },
  {
    file: "src/egress/response-reader.ts",
    line: "if (this.#bodyBytes === 0) {",
    change: "this.#bodyBytes === 0 → false",
    why: "The first part is copied rather than kept as it came: slower, and the same body",
  },
  {
    file: "src/http/body.ts",
    line: "if (feed < 0 || feed >= end) {",
    change: "0 → (0 + 1)",
    why: "A head stands before every body, so that no line of one ends at 0",
  },
  {
    file: "src/http/body.ts",
    line: "for (; at < stop && at - from < SIZE_DIGITS_MAX; at++) {",
    change: "at < stop → at <= stop",
    why: "The CR that stands at `stop` is no digit and ends the loop, too",
  },
  {
    file: "src/http/body.ts",
    line: "if (at === from) return -1;",
    change: "1 → (1 + 1)",
    why: anyNegative,
  },
  {
    file: "src/http/body.ts",
    line: "return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;",
    change: "1 → (1 + 1)",
    why: anyNegative,
  },
  {
    file: "src/http/head.ts",
    line: "methodStart: 0,",
    change: "0 → (0 - 1)",
    why: "Each head is read whole before any of it is asked for",
  },
  {
    file: "src/http/connection.ts",
    line: "#running = false;",
    change: "false → true",
    why: "Nothing asks before the first request runs, which sets it",
  },
  {
    file: "src/http/body.ts",
    line: "if (size < 0) return this.#refuse(400);",
    change: "size < 0 → false",
    why: "The line feed of the malformed size then begins a line, which is refused with the same status",
  },
  {
    file: "src/store/ordered/ordered-store.ts",
    line: "const isShort = error instanceof LogShortenedError && performance.now() > until;",
    change: "performance.now() > until → performance.now() >= until",
    why: "A wait that ends a moment earlier",
  },
  {
    file: "src/kafka/bounded-reader.ts",
    line: "expectBytes(reader, count);",
    change: "expectBytes(reader, count); → ;",
    why: "The item for which there are no bytes is refused in the loop",
  },
  {
    file: "src/publishing/default-test-events.ts",
    line: 'title: "Shoes",',
    change: '"Shoes" → ""',
    why: "Any name of an event is a test",
  },
  {
    file: "src/concurrency/fifo.ts",
    line: "if (items.length === 0) return;",
    change: "0 → (0 - 1)",
    why: "An empty list at the front leaves the items as they are, at the cost of a copy",
  },
  {
    file: "src/event/event.ts",
    line: "out = isStreamed ? putObject(IN_PROPERTIES, out) : emitValue(PROPERTIES, out, 1);",
    change: "1 → (1 - 1)",
    why: "The level names a row of a table, and another row is as free",
  },
  {
    file: "src/event/event.ts",
    line: "out = isStreamed ? putObject(IN_CONTEXT, out) : emitValue(CONTEXT, out, 1);",
    change: "1 → (1 - 1)",
    why: "The level names a row of a table, and another row is as free",
  },
  {
    file: "src/event/inspect.ts",
    line: "let gaps = 0;",
    change: "0 → (0 + 1)",
    why: "An upper bound that is one higher only leads to the exact count",
  },
  {
    file: "src/event/sdk/event.ts",
    line: "if (end - start > 48) return out + json.copy(scratch, out, start, end);",
    change: "end - start > 48 → end - start >= 48",
    why: "Both ways copy the same bytes",
  },
  {
    file: "src/log/io/read-at.ts",
    line: "if (bytes <= 0) return Buffer.alloc(0);",
    change: "0 → (0 - 1)",
    why: "A read of no bytes returns none",
  },
  {
    file: "src/store/ordered/change-set.ts",
    line: "const each = writes.map(({ table, key, value }) => (value ? [table, key, value] : [table, key]));",
    change: "value → true",
    why: "A write with an undefined value is a removal, too",
  },
  {
    file: "src/event/inspect.ts",
    line: "end - start >= 4 &&",
    change: "end - start >= 4 && bytes[start] === BACKSLASH → (end - start >= 4)",
    why: "A quote in a decoded text always follows a backslash",
  },
  {
    file: "src/ingest/supervisor/recent-outcomes.ts",
    line: "if (stored + refused === 0) return;",
    change: "0 → (0 - 1)",
    why: "A report of no pixels adds nothing to the sums",
  },
  {
    file: "src/event/record/packed-source-id.ts",
    line: "const place = (id.charCodeAt(ID_CHARS - 1) ^ (id.charCodeAt(ID_CHARS - 2) << 2)) % KEPT_IDS;",
    change:
      "id.charCodeAt(ID_CHARS - 1) ^ (id.charCodeAt(ID_CHARS - 2) << 2) → id.charCodeAt(ID_CHARS - 1) & (id.charCodeAt(ID_CHARS - 2) << 2)",
    why: "Another place in the cache",
  },
  {
    file: "src/event/inspect.ts",
    line: "end - start >= 4 &&",
    change: "4 → (4 + 1)",
    why: "A value of two quotes is blank, and no id",
  },
  {
    file: "src/event/record/packed-source-id.ts",
    line: "const place = (id.charCodeAt(ID_CHARS - 1) ^ (id.charCodeAt(ID_CHARS - 2) << 2)) % KEPT_IDS;",
    change: "2 → (2 + 1)",
    why: "Another place in the cache",
  },
  {
    file: "src/event/sdk/outline.ts",
    line: "const SEED = (Math.random() * 0x1_0000_0000) | 0;",
    change: "0x1_0000_0000 → (0x1_0000_0000 - 1)",
    why: "Another random number",
  },
  {
    file: "src/concurrency/rate-limiter.ts",
    line: "return tokens < 1 ? Math.ceil((1 - tokens) / this.#perSecond) : 0;",
    change: "tokens < 1 → tokens <= 1",
    why: "One token waits for no seconds either way",
  },
  {
    file: "src/event/text/json-text.ts",
    line: "export const escapes = new Uint8Array(256).fill(LETTER_U, 0, SPACE);",
    change: "256 → (256 + 1)",
    why: "No byte is the index of one entry more",
  },
  {
    file: "src/backup/scheduled-backups.ts",
    line: "const due = (this.#newest?.at ?? 0) + this.#everyMs;",
    change: "0 → (0 + 1)",
    why: "A backup in 1970 is due, too",
  },
  {
    file: "src/log/reader.ts",
    line: "if (segment !== newest) segment.bytes = bytes;",
    change: "segment !== newest → false",
    why: "The size of a file is read each time: slower, and the same size",
  },
  {
    file: "src/log/reader.ts",
    line: "if (!this.#segments.some(later)) this.#list();",
    change: "!this.#segments.some(later) → true",
    why: "The files are listed each time: slower, and the same segments",
  },
  {
    file: "src/catalog/live.ts",
    line: "if (made === undefined) return undefined;",
    change: "made === undefined → false",
    why: "A linked transformation is published; the compiler does not know",
  },
  ...[
    "this.#networks.get(network) ?? 0 → (this.#networks.get(network))",
    "0 → (0 + 1)",
    "0 → (0 - 1)",
  ].map((change) => ({
    file: "src/http/buffered-bytes.ts",
    line: "const own = network === undefined ? 0 : (this.#networks.get(network) ?? 0);",
    change,
    why: "What no connection of the network buffers is far below the bound",
  })),
  ...["0 → (0 + 1)", "0 → (0 - 1)"].map((change) => ({
    file: "src/pipeline/replays/ready-events.ts",
    line: "#pushed = 0;",
    change,
    why: "Numbers only give an order",
  })),
  {
    file: "src/pipeline/replays/ready-events.ts",
    line: "const isLater = (other: LaneEvent) => this.#numbers.get(other)! > number;",
    change: "this.#numbers.get(other)! > number → this.#numbers.get(other)! >= number",
    why: "Each event is put back once after it was taken, and has a number of its own",
  },
  {
    file: "src/pipeline/repetitions/recent-ids.ts",
    line: "return (word >>> 0) % this.#capacity;",
    change: "0 → (0 + 1)",
    why: "Other buckets, as evenly filled",
  },
  {
    file: "src/event/sdk/outline.ts",
    line: "const word = words.getInt32(at, true);",
    change: "true → false",
    why: "Whether a word has a zero byte does not depend on the order of its bytes",
  },
];
