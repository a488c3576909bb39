import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { migrate } from '../../src/db/migrate.ts';
import { startTestCluster } from './test-cluster.ts';
import { templateDatabase, withDatabase } from './test-database.ts';
import { seedInstallation } from './test-world.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    ownerUrl: string;
  }
}

/** One real PostgreSQL for the whole run, and one migrated template that every test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startTestCluster();
  const admin = new pg.Client({ connectionString: cluster.ownerUrl });
  await admin.connect();
  await admin.query(`create database ${templateDatabase}`);
  await admin.end();
  const templateUrl = withDatabase(cluster.ownerUrl, templateDatabase);
  await migrate(templateUrl);
  await seedInstallation(templateUrl);
  await makePartitions(templateUrl);
  project.provide('ownerUrl', cluster.ownerUrl);
  return () => cluster.stop();
}

/** Once in the template, so that not every application of every test file makes them. */
async function makePartitions(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("select ensure_audit_partitions((now() at time zone 'UTC')::date - 1, 16)");
  await client.end();
}
