! The checks of all programs.
subroutine check(holds, line)
  implicit none
  logical, intent(in) :: holds
  integer, intent(in) :: line
  integer :: failures
  common /failed/ failures
  if (holds) return
  failures = failures + 1
  print '(a,i0)', 'check failed in line ', line
end subroutine

subroutine finish()
  implicit none
  integer :: failures
  common /failed/ failures
  if (failures /= 0) error stop 1
end subroutine

block data
  integer :: failures
  common /failed/ failures
  data failures /0/
end block data
