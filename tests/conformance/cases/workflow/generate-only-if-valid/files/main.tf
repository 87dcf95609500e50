import {
  to = terraform_data.gone
  id = "x"
}
resource "terraform_data" "a" {
 nonsense = 1
}
