import { randomInt } from 'node:crypto';
import { equalInConstantTime, generateToken, hmacSha256, type Secret } from '../../kernel/secret.ts';

export interface MintedSecrets {
  readonly token: string;
  readonly pin: string;
  readonly tokenHash: Buffer;
  readonly pinHash: Buffer;
}

export interface InvitationSecrets {
  mint(invitationId: string): MintedSecrets;
  hashToken(token: string): Buffer;
  isPin(invitationId: string, pin: string, pinHash: Buffer): boolean;
}

/** Only hashes under the pepper are kept: a stolen table redeems nothing, although a PIN has a million values only. */
export function createInvitationSecrets(pepper: Secret): InvitationSecrets {
  const hashToken = (token: string) => hmacSha256(pepper, `org-invitation token ${token}`);
  const hashPin = (invitationId: string, pin: string) =>
    hmacSha256(pepper, `org-invitation pin ${invitationId} ${pin}`);
  return {
    hashToken,
    mint(invitationId) {
      const token = generateToken();
      const pin = String(randomInt(1_000_000)).padStart(6, '0');
      return { token, pin, tokenHash: hashToken(token), pinHash: hashPin(invitationId, pin) };
    },
    isPin(invitationId, pin, pinHash) {
      // People type it from paper.
      const digits = pin.replace(/[\s-]/g, '');
      return equalInConstantTime(hashPin(invitationId, digits), pinHash);
    },
  };
}
