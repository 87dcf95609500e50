resource "terraform_data" "c" {
  input = "a"
}
moved {
  from = terraform_data.c
  to   = terraform_data.d
}
moved {
  from = terraform_data.d
  to   = terraform_data.c
}
