terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

import {
  to = lab_widget.w
  id = "lab-00000000000b"
}
output "title" { value = "fixed" }
