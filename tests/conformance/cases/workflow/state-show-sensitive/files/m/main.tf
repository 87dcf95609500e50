resource "terraform_data" "in" {
  input = jsonencode({ a = 1 })
}
