terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

import {
  to = lab_widget.w[0]
  id = "lab-1"
}
import {
  to = lab_widget.x[each.key]
  id = each.value
  for_each = { a = "lab-1" }
}
