module spin;

import core.stdc.stdio : fflush, puts, stdout;

__gshared ulong done;

class Box
{
    pragma(inline, false) void turn(int n)
    {
        import core.atomic : atomicOp;
        foreach (i; 0 .. n)
            atomicOp!"+="(*cast(shared ulong*)&done, 1);
    }
}

pragma(inline, false) void work(Box box)
{
    foreach (i; 0 .. 2)
        box.turn(100_000);
}

pragma(inline, false) void itemDone()
{
    import core.atomic : atomicOp;
    atomicOp!"+="(*cast(shared ulong*)&done, 1);
}

void main()
{
    auto box = new Box;
    puts("ready");
    fflush(stdout);
    for (;;)
    {
        work(box);
        itemDone();
    }
}
