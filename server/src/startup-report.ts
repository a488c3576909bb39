import { apiBasePath } from '@lintel/contract/operations';
import type { DemoIds } from './demo-building.ts';

export interface StartReport {
  readonly version: string;
  readonly publicUrl: string;
  readonly dataDir: string;
  /** Of the operator's own database, without user and password; null for the embedded one. */
  readonly database: string | null;
  readonly orgId: string;
  readonly adminEmail: string | null;
  readonly apiKey: string | null;
  readonly signInUrl: string | null;
  /** False where an external identity provider signs people in. */
  readonly hasSignInLinks: boolean;
  readonly demo: DemoIds;
}

/** For programs: one line, and nothing else on standard output. */
export function reportLine(report: StartReport): string {
  return JSON.stringify({
    url: report.publicUrl,
    api_base: `${report.publicUrl}${apiBasePath}`,
    api_key: report.apiKey,
    org_id: report.orgId,
    admin: { email: report.adminEmail },
    sign_in_url: report.signInUrl,
    demo: report.demo,
  });
}

export type Emphasis = (text: string) => string;

/** For people. `strong` marks what to look at first, where the terminal can. */
export function reportText(report: StartReport, strong: Emphasis = (text) => text): string {
  const rows: [string, string][] = [
    ['Web', report.publicUrl],
    ...signInRow(report),
    ...(report.apiKey === null ? [] : [['API key', report.apiKey] satisfies [string, string]]),
    ['API', `${report.publicUrl}${apiBasePath}`],
    ['Org id', report.orgId],
    ['Reference', `${report.publicUrl}/docs`],
    ['Data', report.database === null ? report.dataDir : `${report.database}, keys in ${report.dataDir}`],
  ];
  const lines = rows.map(([label, value]) => `  ${label.padEnd(11)}${value}`);
  const blocks = [
    strong(`  Lintel ${report.version} is running.`),
    lines.join('\n'),
    ...curlBlock(report),
    closing(report),
  ];
  return `\n${blocks.join('\n\n')}\n`;
}

function signInRow({ signInUrl, adminEmail, hasSignInLinks }: StartReport): [string, string][] {
  if (signInUrl !== null) return [['Sign in', signInUrl]];
  return hasSignInLinks ? [] : [['Sign in', `at your identity provider, as ${adminEmail}`]];
}

function curlBlock({ publicUrl, apiKey, demo }: StartReport): string[] {
  if (apiKey === null || demo.front_door === undefined) return [];
  return [
    `  Open the front door:

    curl -X POST ${publicUrl}${apiBasePath}/entities/${demo.front_door}/actions/switchable.open \\
      -H 'Authorization: Bearer ${apiKey}' \\
      -H 'Content-Type: application/json' -d '{}'`,
  ];
}

function closing({ apiKey, signInUrl, hasSignInLinks }: StartReport): string {
  const lines = [
    ...(apiKey === null ? [] : ['The key is shown this once. Keep it.']),
    ...(signInUrl === null ? [] : ['The link works once.']),
    ...(hasSignInLinks ? ['For another sign-in link: npm start -- --sign-in-link'] : []),
    'Stop with Ctrl-C.',
  ];
  return lines.map((line) => `  ${line}`).join('\n');
}
