# SPDX-License-Identifier: MIT
# Grapheme cluster boundaries over the code points of a Python string.


cdef extern from "text/grapheme.h" nogil:
    ctypedef struct gr_text:
        const void *data
        Py_ssize_t length
        int width

    Py_ssize_t gr_floor(gr_text text, Py_ssize_t position, Py_ssize_t known)
    Py_ssize_t gr_ceil(gr_text text, Py_ssize_t position, Py_ssize_t known)


cdef extern from *:
    """
    /* Fills the view and returns what must live as long as it. The stable ABI does not show
    ** how a str is held, so there the view is of a copy. */
    static PyObject *grapheme_view(PyObject *text, gr_text *view) {
    #ifdef Py_LIMITED_API
      char *data;
      Py_ssize_t size;
      PyObject *copy = PyUnicode_AsEncodedString(
          text, PY_BIG_ENDIAN ? "utf-32-be" : "utf-32-le", "surrogatepass");
      if (!copy) return NULL;
      if (PyBytes_AsStringAndSize(copy, &data, &size) < 0) {
        Py_DECREF(copy);
        return NULL;
      }
      view->data = data;
      view->length = size / 4;
      view->width = 4;
      return copy;
    #else
      view->data = PyUnicode_DATA(text);
      view->length = PyUnicode_GET_LENGTH(text);
      view->width = (int)PyUnicode_KIND(text);
      Py_INCREF(text);
      return text;
    #endif
    }
    """
    object grapheme_view(str text, gr_text *view)
