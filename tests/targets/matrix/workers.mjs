// A Node program of real use: worker threads that hash and compress, messages, timers, all checked.
// workers.mjs COUNTER-FILE; ends at SIGTERM.
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { deflateSync, inflateSync } from 'node:zlib';

const data = Buffer.alloc(1 << 17, 'some words to be hashed and compressed ');
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

function powerOf3(count) {
  let value = 1;
  for (let i = 0; i < count; i++) value = (value * 3) % 1000003;
  return value;
}

if (isMainThread) {
  const counter = openSync(process.argv[2], 'w+');
  const bytes = new BigUint64Array(1);
  const wanted = { hash: hash(data), compress: data.length, compute: powerOf3(1000000) };
  let wrong = 0, rounds = 0, ticks = 0;
  writeSync(counter, bytes, 0, 8, 0);
  const workers = Object.keys(wanted).map((kind) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: kind });
    worker.on('message', (result) => {
      if (result !== wanted[kind]) wrong++;
      bytes[0] = BigInt(++rounds);
      writeSync(counter, bytes, 0, 8, 0);
      worker.postMessage('next');
    });
    return worker;
  });
  const timer = setInterval(() => { ticks++; }, 5);
  process.on('SIGTERM', async () => {
    clearInterval(timer);
    await Promise.all(workers.map((worker) => worker.terminate()));
    console.log(`rounds ${rounds}\nwrong ${wrong}\ndone ${ticks}`);
  });
  console.log(`ready ${process.pid}`);
} else {
  const work = {
    hash: () => hash(data),
    compress: () => inflateSync(deflateSync(data)).length,
    compute: () => powerOf3(1000000),
  }[workerData];
  parentPort.on('message', () => parentPort.postMessage(work()));
  parentPort.postMessage(work());
}
