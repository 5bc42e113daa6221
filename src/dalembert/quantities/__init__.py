"""What can be asked of an arm: tables of quantities, and the machine that traces and compiles them."""
