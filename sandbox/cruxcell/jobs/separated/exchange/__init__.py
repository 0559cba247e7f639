"""Questions and answers between the halves of a separated script, and what goes with them.

link          the messages, one at a time, each half serving while it waits
line          who may change what is known of the link
one_thread    questions of one thread, each half serving while it waits
partners      whose question is open where several threads ask, and who may send
alongside     what goes with a question: what the script has set before it, what the program printed and wrote after
steady        what is not asked twice in a row
refills       which containers messages change while a question is open
leaving       how the test's half ends where it cannot go on
permissions   what the candidate may ask of the test, and how that is done for it
"""
