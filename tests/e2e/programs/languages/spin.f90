module stuff
  implicit none
contains
  subroutine spin(n, many)
    integer, volatile :: n
    integer, intent(in) :: many
    integer :: i
    do i = 1, many
      n = ieor(n, i)
    end do
  end subroutine

  subroutine work(n)
    integer, volatile :: n
    integer :: i
    do i = 1, 2
      call spin(n, 200000)
    end do
  end subroutine

  subroutine item_done(n)
    integer, volatile :: n
    n = ieor(n, 1)
  end subroutine
end module

program main
  use, intrinsic :: iso_fortran_env, only: output_unit
  use stuff
  implicit none
  integer, volatile :: n
  n = 0
  write (output_unit, '(a)') 'ready'
  flush (output_unit)
  do
    call work(n)
    call item_done(n)
  end do
end program
