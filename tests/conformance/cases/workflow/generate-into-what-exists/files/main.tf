import {
  to = terraform_data.gone
  id = "x"
}
