import { Type } from 'typebox';
import { Response } from './common.ts';
import { defineOperation } from './operation.ts';

export const statusOperations = [
  defineOperation({
    id: 'get_backend_status',
    method: 'GET',
    path: '/status',
    tag: 'Status',
    summary: 'Which service this is',
    auth: 'public',
    agents: true,
    org: 'none',
    role: { rule: 'anyone' },
    responses: { 200: Response('BackendStatus', { environment: Type.String(), version: Type.String() }) },
    errors: [],
    audit: null,
  }),
] as const;
