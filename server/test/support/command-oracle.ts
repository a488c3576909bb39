/** What a device remembers of a command. */
export interface LoggedCommand {
  readonly intent_id: string;
}

export interface ActionEvent {
  readonly outcome: string;
  readonly details: Record<string, unknown>;
}

/**
 * Joins the device's own log with the audit log: each command was sent once and has exactly one event, nothing that
 * was answered as done is missing, and nothing is called a success that the device never saw.
 */
export function commandViolations(
  logged: readonly LoggedCommand[],
  events: readonly ActionEvent[],
  answeredAttempts: readonly string[],
): string[] {
  const violations: string[] = [];
  const commands = Map.groupBy(logged, (line) => line.intent_id);
  const byAttempt = Map.groupBy(events, (event) => String(event.details.attempt_id));
  for (const [id, lines] of commands) {
    if (lines.length > 1) violations.push(`${id} was sent ${lines.length} times`);
    const count = byAttempt.get(id)?.length ?? 0;
    if (count !== 1) violations.push(`${id} has ${count} events`);
  }
  for (const attempt of answeredAttempts) {
    if (byAttempt.get(attempt)?.[0]?.outcome !== 'succeeded')
      violations.push(`${attempt} was answered but is not a success`);
  }
  for (const [id, found] of byAttempt) {
    if (found[0]?.outcome === 'succeeded' && !commands.has(id))
      violations.push(`${id} is a success without a command`);
  }
  return violations;
}
