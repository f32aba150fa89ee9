let sum = ref 0

module Inner = struct
  let[@inline never] turn n =
    for i = 1 to n do
      sum := Sys.opaque_identity (!sum lxor i)
    done
end

let[@inline never] work () =
  for _ = 1 to 2 do
    Inner.turn 500000
  done

let[@inline never] item_done () = sum := !sum + 1

let () =
  print_endline "ready";
  while true do
    work ();
    item_done ()
  done
