// Processes the due documents of a collection by mongodb-cron, and prints how long that took and how often each came.
// node drain.js URL COLLECTION CONCURRENCY DOCUMENTS
const { MongoClient } = require('mongodb');
const { MongoCron } = require('mongodb-cron');

async function main(url, name, concurrency, documents) {
  const client = await MongoClient.connect(url, { maxPoolSize: 100 });
  const collection = client.db().collection(name);
  const counts = {};
  let left = documents;
  let allHandled;
  const handled = new Promise((resolve) => { allHandled = resolve; });
  const onDocument = (document) => {
    counts[document._id] = (counts[document._id] || 0) + 1;
    left -= 1;
    if (left === 0) allHandled();
  };
  const schedulers = Array.from({ length: concurrency }, () => new MongoCron({ collection, onDocument, idleDelay: 1000 }));
  const begun = process.hrtime.bigint();
  await Promise.all(schedulers.map((scheduler) => scheduler.start()));
  await handled;
  while (await collection.countDocuments({ sleepUntil: { $ne: null } }, { limit: 1 })) {
    await new Promise((resolve) => { setTimeout(resolve, 1); });
  }
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  process.stdout.write(JSON.stringify({ seconds, counts }));
  process.exit(0);
}

const [url, name, concurrency, documents] = process.argv.slice(2);
main(url, name, Number(concurrency), Number(documents)).catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
