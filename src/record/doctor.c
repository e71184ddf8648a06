#include "record/record.h"
void doctor_run(struct doctor *out_doctor) { (void)out_doctor; }
void doctor_fini(struct doctor *doctor) { (void)doctor; }
