"""The table of all cases. tests/truth tests accuracy."""

import ab_cases
import budget_cases
import command_line_cases
import end_cases
import facility_cases
import matrix_cases
import profile_cases
import refusal_cases
import report_cases
import run_cases
import silence_cases
import stack_cases
import throttling_cases

AB, AB_REFUSALS, AB_HELP = ab_cases.make_cases()
REFUSALS = [refusal_cases.refused(case) for case in (*refusal_cases.CASES, *AB_REFUSALS)]

CASES = [*profile_cases.CASES, *run_cases.CASES, *end_cases.CASES, *report_cases.CASES, *AB,
         *REFUSALS, *command_line_cases.CASES, *facility_cases.CASES, *AB_HELP, *budget_cases.CASES,
         *matrix_cases.CASES, *silence_cases.CASES, *stack_cases.CASES, *throttling_cases.CASES]
assert len({case.name for case in CASES}) == len(CASES)
