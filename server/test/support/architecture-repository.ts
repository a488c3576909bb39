// Rules about the files beside the sources: migrations, package manifests and the lock file.

const MIGRATION = /^(\d{4})_[a-z0-9_]+\.sql$/;

export function checkMigrations(names: readonly string[]): string[] {
  const misnamed = names.filter((name) => !MIGRATION.test(name));
  const numbered = names.filter((name) => MIGRATION.test(name)).toSorted();
  const misnumbered = numbered.flatMap((name, index) => {
    const expected = String(index + 1).padStart(4, '0');
    return name.startsWith(`${expected}_`) ? [] : [`${name}: expected number ${expected}`];
  });
  // After the first gap every number is off; one message says it.
  return [...misnamed.map((name) => `${name}: not named NNNN_what_it_does.sql`), ...misnumbered.slice(0, 1)];
}

const EXACT_VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const DEPENDENCY_SECTIONS = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
] as const;

export type PackageManifest = Readonly<
  Partial<Record<(typeof DEPENDENCY_SECTIONS)[number], Readonly<Record<string, string>>>>
>;

export function checkManifests(manifests: Readonly<Record<string, PackageManifest>>): string[] {
  return Object.entries(manifests).flatMap(([path, manifest]) =>
    DEPENDENCY_SECTIONS.flatMap((section) =>
      Object.entries(manifest[section] ?? {})
        .filter(([, version]) => !EXACT_VERSION.test(version))
        .map(([name, version]) => `${path}: ${name} "${version}" in ${section} is not an exact version`),
    ),
  );
}

export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>;
}

/** A locked registry address would tie every clone to the registry of the machine that wrote the lock. */
export function checkLockFile({ packages }: LockFile): string[] {
  return Object.entries(packages).flatMap(([name, { resolved, link }]) => {
    const isWorkspace = link === true && resolved !== undefined && resolved in packages;
    return resolved === undefined || isWorkspace ? [] : [`${name}: resolved to ${resolved}`];
  });
}
